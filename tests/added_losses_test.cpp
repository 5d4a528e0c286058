#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "golden.hpp"
#include "mirrored_samples.hpp"

// Losses that layers add to a step: which calls count, and how much. The numbers are those of Keras 2 and 3, which
// agree.
namespace etude {
namespace {

using namespace samples;
using nlohmann::json;

/// Adds 8 to the loss.
class Eight : public Layer {
 public:
  Eight() : Layer("Eight") {}
  Value call(Value x, bool) override {
    add_loss(Graph::current().constant(8, x.dtype()));
    return x;
  }
};

/// x [1] -> x; `eight` adds 8 to the loss. `step` is the custom step.
struct Own : Model {
  using Step = std::function<Outputs(Own&, Value)>;
  const LayerPtr unit = summing_unit().front(), eight = std::make_shared<Eight>();
  Step step;
  int calls_of_eight;

  explicit Own(Step given, int calls = 1) : step(std::move(given)), calls_of_eight(calls) {}
  std::vector<LayerPtr> layers() const override { return {unit, eight}; }
  Value call(Value x, bool training) override {
    Value y = (*unit)(x, training);
    for (int i = 0; i < calls_of_eight; ++i) y = (*eight)(y, training);
    return y;
  }
  StepLogs test_step(const StepData& data) override {
    const Outputs y = step(*this, data.x[0]);
    return compute_metrics(data, y, compute_loss(data, y));
  }
  Outputs once(Value x) { return (*this)(std::vector{x}); }
};

const Tensor twos = filled({4, 1}, 2), zeros = filled({4, 1}, 0);

/// The loss of outputs of 2 for targets of 0: 4 without added losses.
double loss_of(Model& model) {
  CompileOptions how = mse();
  how.run_eagerly = GENERATE(false, true);
  model.compile(how);
  return model.test_on_batch(twos, zeros)["loss"];
}
double loss_of(const Own::Step& step) {
  Own model(step);
  return loss_of(model);
}

/// The loss in both versions of Keras.
double keras_loss(const char* name) {
  const double loss = testing::keras(2, "added losses").at(name);
  CHECK(testing::keras(3, "added losses").at(name) == loss);
  return loss;
}

}  // namespace

TEST_CASE("a step that calls the model twice has the added losses of the last call", "[training]") {
  CHECK(loss_of([](Own& model, Value x) { return model.once(x); }) == keras_loss("model once"));
  CHECK(loss_of([](Own& model, Value x) {
          model.once(x);
          return model.once(x);
        }) == keras_loss("model twice"));
}

TEST_CASE("within one call of the model all calls of a shared layer count", "[training]") {
  Own model([](Own& own, Value x) { return own.once(x); }, 2);
  CHECK(loss_of(model) == keras_loss("layer twice"));

  const SymbolicTensor x = layers::input({.shape = {1}});
  const auto eight = std::make_shared<Eight>();
  Functional described({x}, {eight->apply(eight->apply(summing_unit().front()->apply(x)))});
  CHECK(loss_of(described) == keras_loss("described layer twice"));
}

TEST_CASE("a model that another model calls twice adds its losses twice", "[training]") {
  const SymbolicTensor x = layers::input({.shape = {1}});
  const auto inner = std::make_shared<Sequential>(std::vector<LayerPtr>{std::make_shared<Eight>()});
  Functional outer({x}, {inner->apply(inner->apply(summing_unit().front()->apply(x)))});
  CHECK(loss_of(outer) == keras_loss("described model twice"));
}

TEST_CASE("a layer that a step calls by itself adds the losses of its last call", "[training]") {
  CHECK(loss_of([](Own& model, Value x) {
          (*model.eight)(x);
          return model.once(x);
        }) == keras_loss("layer before the model"));
  CHECK(loss_of([](Own& model, Value x) {
          const Outputs y = model.once(x);
          (*model.eight)(x);
          return y;
        }) == keras_loss("layer after the model"));
}

TEST_CASE("a loss that a step adds to the model counts unless the model is called afterwards", "[training]") {
  // Keras 2 accepts no number here, only a function.
  const json wanted = testing::keras(3, "loss added by a step");
  const auto add_100 = [](Own& model, Value x) { model.add_loss(Graph::current().constant(100, x.dtype())); };
  CHECK(loss_of([&](Own& model, Value x) {
          const Outputs y = model.once(x);
          add_100(model, x);
          return y;
        }) == wanted.at("after the model"));
  CHECK(loss_of([&](Own& model, Value x) {
          add_100(model, x);
          return model.once(x);
        }) == wanted.at("before the model"));
}

TEST_CASE("losses that another model adds within the step are not those of this one", "[training]") {
  Own other([](Own& model, Value x) { return model.once(x); });
  CHECK(loss_of([&](Own& model, Value x) {
          const Outputs y = model.once(x);
          other.once(x);
          return y;
        }) == keras_loss("another model"));
}

TEST_CASE("regularizers of weights count once, however often the model is called", "[training]") {
  struct Twice : Sequential {
    using Sequential::Sequential;
    StepLogs test_step(const StepData& data) override {
      (*this)(data.x);
      return Sequential::test_step(data);
    }
  } model({layers::dense({.units = 1,
                          .use_bias = false,
                          .kernel_initializer = "ones",
                          .kernel_regularizer = regularizers::l1({.l1 = 0.5})})});
  CHECK(loss_of(model) == keras_loss("regularized, model twice"));
}

TEST_CASE("an activity regularizer is divided by the rows of the batch", "[training]") {
  const json wanted = testing::keras(2, "activity regularizer");
  CHECK(testing::keras(3, "activity regularizer") == wanted);
  const auto loss = [&](std::int64_t rows, int replicas) {
    const StrategyPtr strategy = replicas > 1 ? mirrored(replicas) : std::make_shared<OneDeviceStrategy>();
    const auto model = within(strategy, [&] {
      auto made = std::make_unique<Sequential>(
          std::vector<LayerPtr>{layers::dense({.units = 1,
                                               .use_bias = false,
                                               .kernel_initializer = "ones",
                                               .activity_regularizer = regularizers::l1({.l1 = wanted.at("l1")})})});
      made->compile({.optimizer = "sgd", .loss = "mse"});
      return made;
    });
    return model->test_on_batch(filled({rows, 2}, 1), filled({rows, 1}, 2))["loss"];
  };
  for (const json& each : wanted.at("losses"))
    for (const int replicas : {1, 2, 3}) {
      const std::int64_t rows = each.at(0);
      CAPTURE(rows, replicas);
      if (rows >= replicas) CHECK(loss(rows, replicas) == each.at(1));
    }
}

TEST_CASE("a step that calls the model twice has the losses of the last call on several replicas", "[mirrored]") {
  const auto model = within(mirrored(2), [] {
    auto made = std::make_unique<Own>([](Own& own, Value x) {
      own.once(x);
      return own.once(x);
    });
    made->compile(mse());
    return made;
  });
  CHECK(model->test_on_batch(twos, zeros)["loss"] == keras_loss("model twice"));
}

}  // namespace etude
