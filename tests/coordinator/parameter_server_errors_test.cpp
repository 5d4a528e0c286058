#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "coordinator/parameter_servers.hpp"

// What ParameterServerStrategy refuses, and the errors of its workers.
namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("ParameterServerStrategy: fit throws the errors of workers, and can be called again", "[parameter_servers]") {
  Program program;
  program.datasets.push_back(
      {.dataset_fn = [](const InputContext&) { return Dataset::from_tensor_slices(samples()).batch(batch_size); },
       .name = "short"});
  const Reports reports = run_cluster(program, [&](Sequential& model) {
    std::string text = error_of([&] { model.fit(DatasetCreator{batches, "unknown"}, options(1)); });
    FitOptions longer = options(1);
    longer.steps_per_epoch = steps + 1;
    text += error_of([&] { model.fit(program.datasets[1], longer); });
    const HistoryPtr history = model.fit(train, options(2));
    return text + std::to_string(history->epoch().size());
  });
  CHECK_THAT(reports[0], ContainsSubstring("no dataset unknown") && ContainsSubstring("the dataset short has ended") &&
                             ContainsSubstring("call repeat().2"));
}

TEST_CASE("ParameterServerStrategy: fit and train_on_batch in a worker or a parameter server are errors",
          "[parameter_servers]") {
  for (const char* const task : {"worker", "ps"}) {
    ServerCluster cluster{.workers = {free_address()}, .servers = {free_address()}};
    cluster.task = task;
    const auto strategy = std::make_shared<ParameterServerStrategy>(cluster);
    const auto scope = strategy->scope();
    const auto model = Program{}.model();
    const auto is_refused = ContainsSubstring("expected the chief - call strategy->serve() in this process.");
    CHECK_THAT(error_of([&] { model->fit(train, options(1)); }), is_refused);
    const Batch all = samples();
    CHECK_THAT(error_of([&] { model->train_on_batch(all.x[0], all.y[0]); }), is_refused);
  }
}

namespace {

/// A step with a second optimizer.
class TwoOptimizers : public Sequential {
 public:
  using Sequential::Sequential;
  StepLogs train_step(const StepData& data) override {
    const Outputs y = (*this)(data.x, true);
    const Value loss = compute_loss(data, y);
    second->apply(gradients(loss, trainable_variables()), trainable_variables());
    return compute_metrics(data, y, loss);
  }
  OptimizerPtr second = optimizers::sgd();
};

struct Guardrail {
  const char* words;
  std::function<void(Sequential&)> action;
};

/// Reads values after each batch.
class EachBatch : public Callback {
 public:
  void on_train_batch_end(std::int64_t, Logs&) override {}
};

FitOptions with(CallbackPtr callback) {
  FitOptions result = options(1);
  result.callbacks = {std::move(callback)};
  return result;
}

void compile(Sequential& model, OptimizerPtr optimizer) {
  model.compile({.optimizer = std::move(optimizer), .loss = "mse"});
}

/// On a compiled model of a chief.
const std::vector<Guardrail> guardrails{
    {"`run_eagerly` is not supported", [](Sequential& m) { m.compile({.loss = "mse", .run_eagerly = true}); }},
    {"`verbose=1` is not allowed",
     [](Sequential& m) { m.fit(train, {.epochs = 1, .verbose = 1, .steps_per_epoch = steps}); }},
    {"`verbose=1` is not allowed", [](Sequential& m) { m.evaluate(train, {.verbose = 1, .steps = steps}); }},
    {"Batch-level `Callback`s are not supported",
     [](Sequential& m) { m.fit(train, with(std::make_shared<EachBatch>())); }},
    {"Batch-level `Callback`s are not supported",
     [](Sequential& m) {
       m.evaluate(train, {.verbose = 0, .steps = steps, .callbacks = {std::make_shared<EachBatch>()}});
     }},
    {"Batch-level `Callback`s are not supported",
     [](Sequential& m) { m.fit(train, with(callbacks::terminate_on_nan())); }},
    {"Batch-level `Callback`s are not supported",
     [](Sequential& m) { m.fit(train, with(callbacks::model_checkpoint({.filepath = "m.keras", .save_freq = 5}))); }},
    {"Batch-level `Callback`s are not supported",
     [](Sequential& m) { m.fit(train, with(callbacks::backup_and_restore({.backup_dir = "b", .save_freq = 5}))); }},
    {"Batch-level `Callback`s are not supported",
     [](Sequential& m) { m.fit(train, with(callbacks::tensorboard({.update_freq = "batch"}))); }},
    {"`steps_per_epoch`, `validation_steps` or `steps` argument must be provided",
     [](Sequential& m) { m.fit(train, {.epochs = 1, .verbose = 0}); }},
    {"as training data - expected a DatasetCreator",
     [](Sequential& m) { m.fit(samples().x[0], samples().y[0], {.verbose = 0}); }},
    {"a class_weight",
     [](Sequential& m) { m.fit(train, {.verbose = 0, .class_weight = {{0, 1.0}}, .steps_per_epoch = steps}); }},
    {"a DatasetCreator without a name", [](Sequential& m) { m.fit(DatasetCreator{batches}, options(1)); }},
    {"serve() in the chief",
     [](Sequential& m) { dynamic_cast<ParameterServerStrategy&>(*m.strategy()).serve(m, {train}); }},
    {"an optimizer that scales the loss",
     [](Sequential& m) {
       compile(m, optimizers::sgd({.loss_scale_factor = 8.0}));
       m.fit(train, options(1));
     }},
    {"which consists of several optimizers",
     [](Sequential& m) {
       compile(m, optimizers::multi_optimizer({.default_optimizer = optimizers::sgd()}));
       m.fit(train, options(1));
     }},
    {"a constraint of", [](Sequential& m) {
       m.add(layers::dense({.units = 1, .kernel_constraint = "non_neg"}));
       compile(m, optimizers::sgd());
       m.fit(train, options(1));
     }}};

}  // namespace

TEST_CASE("ParameterServerStrategy: the chief refuses what it does not support, before it connects",
          "[parameter_servers]") {
  for (const auto& [words, action] : guardrails) {
    CAPTURE(words);
    const Reports reports = run_processes(1, [&](int) {
      const ServerCluster cluster{.workers = {free_address()}, .servers = {free_address()}};
      const auto strategy = std::make_shared<ParameterServerStrategy>(cluster);
      const auto scope = strategy->scope();
      const auto model = Program().model();
      return error_of([&] { action(*model); });
    });
    CHECK_THAT(reports[0], ContainsSubstring(words));
  }
}

TEST_CASE("ParameterServerStrategy: workers refuse a second optimizer, and serve() a model of another scope",
          "[parameter_servers]") {
  const ServerCluster cluster{.workers = {free_address()}, .servers = {free_address()}};
  const Reports reports = run_processes(
      3,
      [&](int process) -> std::string {
        ServerCluster own = cluster;
        if (process > 0) own.task = process == 1 ? "worker" : "ps";
        const auto strategy = std::make_shared<ParameterServerStrategy>(own, ParameterServerOptions{{}, quick});
        std::string text;
        if (process == 2) text = error_of([&] { strategy->serve(*Program().model(), {train}); });
        const auto scope = strategy->scope();
        set_random_seed(7);
        TwoOptimizers model(dense_layers());
        model.compile({.optimizer = "adam", .loss = "mse"});
        if (strategy->is_chief()) return error_of([&] { model.fit(train, options(1)); });
        if (process == 2) text += error_of([&] { strategy->serve(model, {DatasetCreator{batches}}); });
        strategy->serve(model, {train});
        return text + "ended";
      },
      deadline);
  CHECK_THAT(reports[0], ContainsSubstring("a step with a second optimizer"));
  CHECK(reports[1] == "ended");
  CHECK_THAT(reports[2], ContainsSubstring("of another scope") &&
                             ContainsSubstring("a DatasetCreator without a name") && ContainsSubstring("ended"));
}

}  // namespace etude
