#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "golden_path.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Combinations of arguments that Keras rejects, with Keras's texts, so that a search finds the same advice.
// bad_input_test checks the form of errors.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::error_of;

const Tensor x = waves({8, 3}), y = signs_of(x);

Dataset batches() { return Dataset::from_tensor_slices(Batch{{x}, {y}, {}}).batch(4); }

FitOptions quiet(FitOptions options = {}) {
  options.verbose = 0;
  return options;
}

struct Guardrail {
  const char* combination;
  std::function<void(Sequential&)> action;
  const char* words;
};

/// On a compiled model of 3 inputs and 1 output.
const std::vector<Guardrail> guardrails{
    {"validation_split of a dataset", [](Sequential& m) { m.fit(Data(batches()), quiet({.validation_split = 0.5})); },
     "`validation_split` is only supported for arrays"},
    {"a validation_split that leaves no sample to train on",
     [](Sequential& m) { m.fit(x.rows(0, 1), y.rows(0, 1), quiet({.validation_split = 0.5})); },
     "Training data contains 1 samples, which is not sufficient to split it"},
    {"batch_size with a dataset", [](Sequential& m) { m.fit(Data(batches()), quiet({.batch_size = 4})); },
     "The `batch_size` argument must not be specified"},
    {"an endless dataset without steps_per_epoch", [](Sequential& m) { m.fit(Data(batches().repeat()), quiet()); },
     "When passing an infinitely repeating dataset, please specify a `steps_per_epoch` value"},
    {"a DatasetCreator without steps",
     [](Sequential& m) { m.fit(Data(DatasetCreator{[](const InputContext&) { return batches(); }}), quiet()); },
     "When using a `DatasetCreator`, `steps_per_epoch`, `validation_steps` or `steps` argument must be provided"},
    {"arrays of different lengths", [](Sequential& m) { m.fit(x, y.rows(0, 3), quiet()); },
     "Data cardinality is ambiguous"},
    {"arrays of kinds that no adapter takes together",
     [](Sequential& m) { m.fit(Data(Column(List{1, 2}), Column(y)), quiet()); },
     "Failed to find data adapter that can handle input"},
    {"targets left out", [](Sequential& m) { m.fit(Data(x), quiet()); }, "Target data is missing"},
    {"class_weight for targets of 3 axes",
     [](Sequential& m) { m.fit(waves({8, 2, 3}), waves({8, 2, 1}), quiet({.class_weight = {{0, 1.0}}})); },
     "`class_weight` not supported for 3+ dimensional targets"},
    {"validation_freq of 0", [](Sequential& m) { m.fit(x, y, quiet({.validation_freq = 0})); },
     "Expected `validation_freq` to be a list or int"},
    {"no batch in fit", [](Sequential& m) { m.fit(Data(batches().take(0)), quiet()); }, "no batch at all"},
    {"no batch in evaluate", [](Sequential& m) { m.evaluate(Data(batches().take(0)), {.verbose = 0}); },
     "no batch at all"},
    {"no batch in predict", [](Sequential& m) { m.predict(Data(batches().take(0)), {.verbose = 0}); },
     "Unexpected result of `predict_function` (Empty batch_outputs)"},
    {"by_name for a checkpoint of TensorFlow",
     [](Sequential& m) { m.load_weights(testing::golden_path("tf/dense"), {.by_name = true}); },
     "Weights may only be loaded based on topology into Models when loading TensorFlow-formatted weights"},
    {"a model without trainable weights",
     [](Sequential& m) {
       m.set_trainable(false);
       m.compile(mse());
       m.fit(x, y, quiet());
     },
     "No gradients provided for any variable"},
    {"compiled without a loss",
     [](Sequential& m) {
       m.compile({});
       m.fit(x, y, quiet());
     },
     "No loss to compute"},
};

/// An object of one strategy, passed to a model of another.
struct ScopeGuardrail {
  const char* combination;
  std::function<void(const StrategyPtr&)> action;
  const char* words;
};

void compile_within(const StrategyPtr& strategy, Model& model, CompileOptions options) {
  const auto scope = strategy->scope();
  model.compile(std::move(options));
}

const std::vector<ScopeGuardrail> scope_guardrails{
    {"a model made outside of the scope, compiled within",
     [](const StrategyPtr& strategy) {
       Sequential model(two_dense());
       compile_within(strategy, model, {.loss = "mse"});
     },
     "was not created in the distribution strategy scope of (MirroredStrategy)"},
    {"the same of a model that is built",
     [](const StrategyPtr& strategy) {
       Sequential model({layers::dense({.units = 1, .name = "outside"})});
       model.build({-1, 3});
       compile_within(strategy, model, {.loss = "mse"});
     },
     "Variable (outside/kernel) was not created in the distribution strategy scope of (MirroredStrategy)"},
    {"a layer built outside",
     [](const StrategyPtr& strategy) {
       const LayerPtr layer = layers::dense({.units = 1, .name = "early"});
       (*layer)(x);
       const auto scope = strategy->scope();
       Sequential model({layer});
       model.compile({.loss = "mse"});
       model.fit(x, y, quiet());
     },
     "Variable (early/kernel) was not created in the distribution strategy scope of (MirroredStrategy)"},
    {"an optimizer made outside",
     [](const StrategyPtr& strategy) {
       const OptimizerPtr optimizer = optimizers::sgd();
       const auto scope = strategy->scope();
       Sequential model(two_dense());
       model.compile({.optimizer = optimizer, .loss = "mse"});
     },
     "Optimizer (SGD) passed to `model.compile` was created inside a different distribution strategy scope"},
    {"a metric of another strategy",
     [](const StrategyPtr& strategy) {
       const MetricPtr metric = [&] {
         const auto scope = strategy->scope();
         return metrics::mean_absolute_error();
       }();
       Sequential model(two_dense());
       model.compile({.loss = "mse", .metrics = {metric}});
     },
     "Metric (mean_absolute_error) passed to `model.compile` was created inside a different distribution strategy "
     "scope"},
    {"a reduction that does not exist",
     [](const StrategyPtr& strategy) { reduce_per_replica(strategy->split(x), "last"); },
     "`reduction` must be \"first\", \"concat\""},
};

constexpr const char* must_compile = "You must compile your model before training/testing";

}  // namespace

TEST_CASE("guardrails: Keras's errors have Keras's texts, and the model trains on", "[guardrails]") {
  for (const Guardrail& guardrail : guardrails) {
    CAPTURE(guardrail.combination);
    Sequential model(two_dense());
    model.build({-1, 3});
    model.compile(mse());
    const std::vector<double> before = weights_of(model);
    CHECK_THAT(error_of([&] { guardrail.action(model); }), ContainsSubstring(guardrail.words));
    CHECK(weights_of(model) == before);
    model.set_trainable(true);
    model.compile(mse());
    model.fit(x, y, quiet());
  }
}

TEST_CASE("guardrails: weights in HDF5 are loaded only into a model that has created its variables", "[guardrails]") {
  struct Own : Model {
    LayerPtr layer = layers::dense({.units = 3});
    Value call(Value value, bool) override { return (*layer)(value); }
    std::vector<LayerPtr> layers() const override { return {layer}; }
  } own;
  Sequential sequential(two_dense());
  for (Model* model : {static_cast<Model*>(&own), static_cast<Model*>(&sequential)})
    for (const char* path : {"keras/norm.weights.h5", "keras/sequential2_weights.h5"})
      CHECK_THAT(error_of([&] { model->load_weights(testing::golden_path(path)); }),
                 ContainsSubstring("Unable to load weights saved in HDF5 format into a subclassed Model which has not "
                                   "created its variables yet"));
  CHECK_THAT(error_of([&] { sequential.load_weights(testing::golden_path("tf/dense")); }),
             ContainsSubstring("has no weights yet"));
  CHECK(sequential.predict(x, {.verbose = 0}).shape() == Shape{8, 1});
}

TEST_CASE("guardrails: objects of a strategy must be made within its scope", "[guardrails][mirrored]") {
  for (const ScopeGuardrail& guardrail : scope_guardrails) {
    CAPTURE(guardrail.combination);
    CHECK_THAT(error_of([&] { guardrail.action(std::make_shared<MirroredStrategy>(MirroredOptions{.replicas = 2})); }),
               ContainsSubstring(guardrail.words));
  }
}

TEST_CASE("guardrails: class_weight for several outputs", "[guardrails]") {
  const SymbolicTensor in = layers::input({.shape = {3}});
  Functional model({in}, {layers::dense({.units = 1})->apply(in), layers::dense({.units = 1})->apply(in)});
  model.compile(mse());
  CHECK_THAT(error_of([&] { model.fit(Data(Batch{{x}, {y, y}, {}}), quiet({.class_weight = {{0, 1.0}, {1, 2.0}}})); }),
             ContainsSubstring("`class_weight` is only supported for Models with a single output"));
}

TEST_CASE("guardrails: all loops except predict require compile", "[guardrails]") {
  Sequential model(two_dense());
  CHECK_THAT(error_of([&] { model.fit(x, y); }), ContainsSubstring(must_compile));
  CHECK_THAT(error_of([&] { model.evaluate(x, y); }), ContainsSubstring(must_compile));
  CHECK_THAT(error_of([&] { model.train_on_batch(x, y); }), ContainsSubstring(must_compile));
  CHECK_THAT(error_of([&] { model.test_on_batch(x, y); }), ContainsSubstring(must_compile));
  CHECK(model.predict(x, {.verbose = 0}).shape() == Shape{8, 1});
}

}  // namespace etude
