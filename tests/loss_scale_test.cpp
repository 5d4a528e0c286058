#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "mirrored_samples.hpp"
#include "model_kinds.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

// Losses that are scaled so that gradients are in the range of float16.

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

/// One unit without bias: y = 2 x, in half precision; its loss is the mean of y, its gradient that of x.
struct Doubling {
  explicit Doubling(OptimizerPtr optimizer)
      : model({layers::dense({.units = 1,
                              .use_bias = false,
                              .kernel_initializer = initializers::constant({.value = 2}),
                              .dtype = "mixed_float16"})}) {
    model.compile({.optimizer = std::move(optimizer),
                   .loss = losses::from_function([](Value, Value y_pred) { return ops::mean(y_pred, {-1}); }, "mean")});
  }
  double after(float x) {
    model.train_on_batch(filled({1, 1}, x), filled({1, 1}, 0));
    return weights_of(model).front();
  }
  double scale() const { return model.optimizer().loss_scale()->variables()[1].value().item(); }

  Sequential model;
};

OptimizerPtr scaled_sgd(double scale, std::int64_t growth_steps) {
  return optimizers::loss_scale_optimizer({.inner_optimizer = optimizers::sgd({.learning_rate = 1}),
                                           .initial_scale = scale,
                                           .dynamic_growth_steps = growth_steps});
}

}  // namespace

TEST_CASE("a loss that is scaled is float32", "[optimizers][mixed]") {
  const OptimizerPtr optimizer = scaled_sgd(65536, 10);
  const Tensor scaled = testing::run({filled({}, 2)}, [&](std::span<const Value> x) {
    return optimizer->scale_loss(ops::cast(x[0], DType::float16));
  });
  CHECK(scaled.item() == 131072);
}

TEST_CASE("a loss is scaled so that small gradients do not vanish in float16", "[optimizers][mixed]") {
  // The gradient of the kernel, x = 2^-20, times the derivative of the loss by y, 2^-10, is not a number of float16.
  const auto trained = [](OptimizerPtr optimizer, bool automatically) {
    Sequential model(
        {layers::dense({.units = 1, .use_bias = false, .kernel_initializer = "zeros", .dtype = "mixed_float16"})});
    model.compile(
        {.optimizer = std::move(optimizer),
         .loss = losses::from_function([](Value, Value y_pred) { return ops::mean(y_pred, {-1}) * 0x1p-10; }, "small"),
         .auto_scale_loss = automatically});
    model.train_on_batch(filled({1, 1}, 0x1p-18f), filled({1, 1}, 0));
    return weights_of(model).front();
  };
  CHECK(trained(optimizers::sgd({.learning_rate = 1}), false) == 0);
  CHECK(trained(optimizers::sgd({.learning_rate = 1}), true) == -0x1p-28);
  CHECK(trained(scaled_sgd(1024, 10), true) == -0x1p-28);
}

TEST_CASE("by default only models that compute in float16 scale their losses", "[optimizers][mixed]") {
  const auto scales = [](const char* policy) {
    const Policy set(policy);
    Sequential model({layers::dense({.units = 1})});
    model.compile(mse());
    return model.optimizer().loss_scale().has_value();
  };
  CHECK(scales("mixed_float16"));
  CHECK_FALSE(scales("mixed_bfloat16"));
  CHECK_FALSE(scales("float32"));
}

TEST_CASE("a step with a gradient that is not finite is skipped, and halves the scale", "[optimizers][mixed]") {
  Doubling doubling(scaled_sgd(32768, 2000));
  CHECK(doubling.after(0.5) == 1.5);
  CHECK(doubling.after(4) == 1.5);  // 4 · 32768 is beyond float16
  CHECK(doubling.scale() == 16384);
  CHECK(doubling.model.optimizer().iterations() == 1);
  CHECK(doubling.after(std::numeric_limits<float>::quiet_NaN()) == 1.5);
  CHECK(doubling.scale() == 8192);
  CHECK(doubling.after(4) == -2.5);
  CHECK(doubling.model.optimizer().iterations() == 2);
}

TEST_CASE("the scale doubles after a number of consecutive finite steps", "[optimizers][mixed]") {
  Doubling doubling(scaled_sgd(4, 3));
  std::vector<double> scales;
  for (const float x : {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, std::numeric_limits<float>::infinity(), 0.0f, 0.0f, 0.0f}) {
    doubling.after(x);
    scales.push_back(doubling.scale());
  }
  CHECK(scales == std::vector<double>{4, 4, 8, 8, 8, 4, 4, 4, 8});
}

TEST_CASE("the scale never becomes infinite or 0", "[optimizers][mixed]") {
  const auto after = [](const LossScale& scale, float gradient) {
    testing::run({filled({1}, gradient)}, [&](std::span<const Value> x) {
      scale.follow(LossScale::all_finite({x[0]}));
      return x[0];
    });
    return scale.variables()[1].value().item();
  };
  const float infinite = std::numeric_limits<float>::infinity();
  const LossScale large("large", 0x1p124, 1), small("small", 0x1p-12, 1);
  CHECK(after(large, 1) == 0x1p125);
  CHECK(after(large, 1) == 0x1p126);
  CHECK(after(large, 1) == 0x1p126);
  CHECK(after(large, infinite) == 0x1p125);
  CHECK(after(small, infinite) == 0x1p-13);
  CHECK(after(small, infinite) == 0x1p-14);
  CHECK(after(small, infinite) == 0x1p-14);
  CHECK(after(small, 1) == 0x1p-13);
}

TEST_CASE("all replicas skip a step if one of them has a gradient that is not finite", "[optimizers][mixed]") {
  const StrategyPtr strategy = mirrored(2);
  const auto scope = strategy->scope();
  Doubling doubling(scaled_sgd(32768, 2000));
  const Tensor x = Tensor::from<float>({2, 1}, {0.5, 100});
  doubling.model.train_on_batch(x, filled({2, 1}, 0));
  CHECK(weights_of(doubling.model).front() == 2);
  CHECK(doubling.scale() == 16384);
  CHECK(differing_variable(doubling.model) == "");
}

TEST_CASE("skipped steps do not count towards accumulated gradients", "[optimizers][mixed]") {
  Doubling doubling(optimizers::loss_scale_optimizer(
      {.inner_optimizer = optimizers::sgd({.learning_rate = 1, .gradient_accumulation_steps = 2}),
       .initial_scale = 32768}));
  CHECK(doubling.after(0.5) == 2);
  CHECK(doubling.after(100) == 2);
  CHECK(doubling.after(0.25) == 2 - 0.375);
}

TEST_CASE("a custom optimizer that scales the loss has no config, and is freed", "[optimizers][mixed]") {
  struct Custom : Optimizer {
    Custom() : Optimizer({.learning_rate = 1, .name = "custom"}) {}
    void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
      Graph::current().assign(variable, Graph::current().read(variable) - learning_rate * gradient);
    }
  };
  auto inner = std::make_shared<Custom>();
  const std::weak_ptr<Custom> known = inner;
  OptimizerPtr optimizer = optimizers::loss_scale_optimizer({.inner_optimizer = inner, .initial_scale = 8});
  CHECK(optimizer == inner);
  CHECK(optimizer->loss_scale()->initial_scale() == 8);
  CHECK_THROWS_WITH(to_json<Optimizer>(*optimizer), ContainsSubstring("not one of Étude's"));
  optimizer = nullptr;
  inner = nullptr;
  CHECK(known.expired());
}

TEST_CASE("an invalid loss scale is an error", "[optimizers][mixed]") {
  CHECK_THROWS_WITH(optimizers::loss_scale_optimizer({}), ContainsSubstring("no inner_optimizer"));
  CHECK_THROWS_WITH(scaled_sgd(0, 10), ContainsSubstring("initial_scale = 0"));
  CHECK_THROWS_WITH(scaled_sgd(1, 0), ContainsSubstring("dynamic_growth_steps = 0"));
  CHECK_THROWS_WITH(optimizers::loss_scale_optimizer({.inner_optimizer = optimizers::sgd({.loss_scale_factor = 8})}),
                    ContainsSubstring("omit loss_scale_factor"));
}

TEST_CASE("a model in half precision is saved, loaded and continues with the same bits", "[saving][mixed]") {
  const testing::ScratchFolder folder("etude_mixed");
  const auto make = [] {
    const Policy policy("mixed_float16");
    set_random_seed(5);
    auto model = std::make_shared<Sequential>(two_dense());
    model->compile({.optimizer = scaled_sgd(8, 2), .loss = "mse"});
    return model;
  };
  const Tensor x = waves({8, 3}), y = waves({8, 1}, 1);
  const auto model = make();
  for (int i = 0; i < 3; ++i) model->train_on_batch(x, y);
  model->save(folder.path() + "/model");
  const ModelPtr loaded = load_model(folder.path() + "/model");
  CHECK(loaded->get_layer(0)->dtype_policy().name() == "mixed_float16");
  REQUIRE(loaded->optimizer().loss_scale());
  CHECK(loaded->optimizer().loss_scale()->growth_steps() == 2);
  for (int i = 0; i < 3; ++i) {
    model->train_on_batch(x, y);
    loaded->train_on_batch(x, y);
  }
  CHECK(weights_of(*model) == weights_of(*loaded));
  CHECK(model->optimizer().loss_scale()->variables()[1].value().item() == 64);
  CHECK(loaded->optimizer().loss_scale()->variables()[1].value().item() == 64);
}

}  // namespace etude
