#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <limits>

#include "files_in_memory.hpp"
#include "optimizer_samples.hpp"

// Constraints of weights: tests that the cases of other libraries do not cover.
namespace etude {
namespace {

using namespace samples;

/// Sets the constraint of a variable before the trace.
Trained::Prepare set(const ConstraintPtr& constraint) {
  return [=](Optimizer&, Variable variable) { variable.set_constraint(constraint); };
}

/// A variable (1, -2) with a constraint, and its value after steps of an optimizer.
std::vector<double> after_steps(const OptimizerPtr& optimizer, const ConstraintPtr& constraint,
                                const std::vector<std::vector<float>>& gradients) {
  Trained trained(optimizer, set(constraint));
  std::vector<double> result = trained.now();
  for (const std::vector<float>& gradient : gradients) result = trained.after({gradient[0], gradient[1]});
  return result;
}

Tensor constrained(const ConstraintPtr& constraint, const Tensor& x) {
  return testing::run({x}, [&](std::span<const Value> v) { return (*constraint)(v[0]); });
}

double largest_norm(const Tensor& kernel) {
  double largest = 0;
  for (std::int64_t column = 0; column < kernel.shape()[1]; ++column) {
    double squares = 0;
    for (std::int64_t row = 0; row < kernel.shape()[0]; ++row) {
      const double x = kernel.at(row * kernel.shape()[1] + column);
      squares += x * x;
    }
    largest = std::max(largest, std::sqrt(squares));
  }
  return largest;
}

}  // namespace

TEST_CASE("constraints: they are found by name, and an empty choice is none", "[constraints]") {
  for (const char* name :
       {"max_norm", "MaxNorm", "min_max_norm", "unit_norm", "non_neg", "nonneg", "radial_constraint"})
    CHECK(constraints::get(name) != nullptr);
  CHECK(constraints::get({}) == nullptr);
  CHECK(error_of([] { constraints::get("positive"); }) ==
        "[constraint] \"positive\" - expected one of: max_norm, min_max_norm, unit_norm, non_neg, radial_constraint - "
        "choose one of them, or pass an object.");
}

TEST_CASE("constraints: a variable satisfies its constraint after each update (O-20)", "[constraints]") {
  const auto sgd = [] { return optimizers::sgd({.learning_rate = 1}); };
  check_close(after_steps(sgd(), constraints::non_neg(), {{2, -3}}), {0, 1});
  check_close(after_steps(sgd(), constraints::max_norm({.max_value = 5}), {{-5, 6}}), {3, -4});
  check_close(after_steps(sgd(), constraints::non_neg(), {{2, -3}, {-1, 2}}), {1, 0});
  check_close(after_steps(sgd(), {}, {{2, -3}}), {-1, 1});
}

TEST_CASE("constraints: every optimizer applies them", "[constraints]") {
  const std::string name = GENERATE(from_range(optimizer_names));
  CAPTURE(name);
  const std::vector<double> free = after_steps(optimizers::get(name), {}, {{1, -1}});
  const std::vector<double> bound = after_steps(optimizers::get(name), constraints::unit_norm(), {{1, -1}});
  const double norm = std::sqrt(free[0] * free[0] + free[1] * free[1]);
  check_close(bound, {free[0] / norm, free[1] / norm});
}

TEST_CASE("constraints: the average of a variable follows the updates without them, as in Keras", "[constraints]") {
  Trained trained(optimizers::sgd({.learning_rate = 1, .use_ema = true, .ema_momentum = 0.5}),
                  set(constraints::non_neg()));
  check_close(trained.after({2, -3}), {0, 1});
  check_close(numbers(trained.optimizer->slots()[0][0].value()), {-1, 1});
}

TEST_CASE("constraints: calls that only accumulate gradients apply them too, as in Keras", "[constraints]") {
  check_close(after_steps(optimizers::sgd({.learning_rate = 1, .gradient_accumulation_steps = 2}),
                          constraints::min_max_norm({.max_value = 0, .rate = 0.5}), {{0, 0}}),
              {0.5, -1});
}

TEST_CASE("constraints: a step that an infinite gradient skips changes nothing", "[constraints]") {
  const OptimizerPtr optimizer =
      optimizers::loss_scale_optimizer({.inner_optimizer = optimizers::sgd({.learning_rate = 1}), .initial_scale = 1});
  Trained trained(optimizer, [](Optimizer& of, Variable variable) {
    variable.set_constraint(constraints::non_neg());
    of.scale_loss(Graph::current().constant(1, DType::float32));
  });
  CHECK(trained.after({std::numeric_limits<float>::infinity(), 0}) == std::vector<double>{1, -2});
  CHECK(trained.after({0, 0}) == std::vector<double>{1, 0});
}

TEST_CASE("constraints: weights of frozen layers do not change", "[constraints]") {
  const auto layer = layers::dense({.units = 2,
                                    .kernel_initializer = initializers::constant({.value = -3}),
                                    .kernel_constraint = "non_neg",
                                    .trainable = false});
  Sequential model({layer, layers::dense({.units = 1})});
  model.compile(mse());
  model.fit(waves({4, 3}), waves({4, 1}), {.verbose = 0});
  for (const double x : numbers(layer->weights()[0].value())) CHECK(x == -3);
}

TEST_CASE("constraints: they are part of the step, which is traced once", "[constraints]") {
  Sequential model({layers::dense({.units = 4, .kernel_constraint = constraints::max_norm({.max_value = 0.25})})});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.5}), .loss = "mse"});
  const auto look = callbacks::lambda({.on_train_batch_end = [&](std::int64_t, Logs&) {
    CHECK(largest_norm(model.weights()[0].value()) < 0.25 + 1e-6);
  }});
  model.fit(waves({8, 3}), waves({8, 4}, 0.5), {.batch_size = 2, .epochs = 3, .verbose = 0, .callbacks = {look}});
  CHECK(model.make_train_function()->traces() == 1);
  CHECK(largest_norm(model.weights()[0].value()) > 0.2);
}

TEST_CASE("constraints: a saved and loaded model has them", "[constraints][saving]") {
  const testing::FilesInMemory scope;
  Sequential model({layers::dense(
      {.units = 4, .kernel_constraint = constraints::max_norm({.max_value = 0.25}), .bias_constraint = "non_neg"})});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.5}), .loss = "mse"});
  const Tensor x = waves({8, 3}), y = waves({8, 4}, 0.5);
  model.fit(x, y, {.verbose = 0});
  model.save("model");
  const ModelPtr loaded = load_model("model");
  for (Model* each : {static_cast<Model*>(&model), loaded.get()}) each->fit(x, y, {.epochs = 3, .verbose = 0});
  CHECK(weights_of(*loaded) == weights_of(model));
  CHECK(largest_norm(loaded->weights()[0].value()) < 0.25 + 1e-6);
}

TEST_CASE("constraints: norms of 0 stay 0, also in half precision", "[constraints]") {
  for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16})
    for (const ConstraintPtr& constraint :
         {ConstraintPtr(constraints::unit_norm()), ConstraintPtr(constraints::max_norm()),
          ConstraintPtr(constraints::min_max_norm({.min_value = 1, .max_value = 2}))}) {
      const Tensor y = constrained(constraint, Tensor({3, 2}, dtype));
      CHECK(y.dtype() == dtype);
      CHECK(numbers(y) == std::vector<double>(6));
    }
}

TEST_CASE("constraints: radial kernels keep the values from the center along the diagonal, and stay so",
          "[constraints]") {
  Tensor kernel({3, 3, 1, 1});
  for (std::size_t i = 0; i < 9; ++i) kernel.data<float>()[i] = static_cast<float>(i);
  const Tensor once = constrained(constraints::radial_constraint(), kernel);
  CHECK(numbers(once) == std::vector<double>{8, 8, 8, 8, 4, 8, 8, 8, 8});
  CHECK(numbers(constrained(constraints::radial_constraint(), once)) == numbers(once));
}

TEST_CASE("constraints: invalid numbers, and weights of another shape, are Errors", "[constraints]") {
  CHECK(error_of([] { constraints::max_norm({.max_value = -1}); }) ==
        "[MaxNorm] max_value = -1 - expected a finite number of 0 or more - set max_value.");
  CHECK(error_of([] { constraints::min_max_norm({.min_value = 2}); }) ==
        "[MinMaxNorm] min_value = 2, max_value = 1 - expected a min_value up to max_value - set both.");
  CHECK(error_of([] { constraints::min_max_norm({.rate = 1.5}); }) ==
        "[MinMaxNorm] rate = 1.5 - expected a number from 0 to 1 - set rate.");
  CHECK(error_of([] { constrained(constraints::unit_norm({.axis = 2}), Tensor({2, 2})); }).starts_with("[UnitNorm] "));
  CHECK(error_of([] { constrained(constraints::radial_constraint(), Tensor({3, 2, 1, 1})); }) ==
        "[RadialConstraint] a weight of shape [3, 2, 1, 1] - expected [n, n, channels, filters] - use it for square "
        "kernels of Conv2D.");
}

TEST_CASE("constraints: a custom step applies that of the user's own variable", "[constraints]") {
  struct Own : Model {
    Variable gain{"gain", Tensor::from<float>({1}, {1})};
    std::vector<LayerPtr> layers() const override { return {}; }
    Value call(Value x, bool) override { return x * Graph::current().read(gain); }
  } model;
  model.gain.set_constraint(constraints::max_norm({.max_value = 0.5}));
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.1}), .loss = "mse"});
  model.train_on_batch(filled({2, 1}, 1), filled({2, 1}, 5));
  check_close(numbers(model.gain.value()), {0.5});
}

}  // namespace etude
