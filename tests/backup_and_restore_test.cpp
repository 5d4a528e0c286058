#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "interrupted_runs.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("backup and restore: an uninterrupted fit is unchanged, and leaves nothing behind", "[callbacks]") {
  Script script;
  const Outcome whole = script.run();
  Backup backup;
  script.backup = backup.options(GENERATE(SaveFrequency("epoch"), SaveFrequency(1)));
  CHECK(script.run() == whole);
  CHECK_FALSE(backup.files->exists("backup"));
}

TEST_CASE("backup and restore: saves per epoch resume at an epoch, saves per batches at a batch", "[callbacks]") {
  // The hooks are train_begin, and for each epoch its begin, two for each of six batches, two of validation, and its
  // end.
  const auto [save_freq, first] =
      GENERATE(std::pair(SaveFrequency("epoch"), std::pair(1, 0)), std::pair(SaveFrequency(4), std::pair(1, 2)));
  Backup backup;
  Script script{.backup = backup.options(save_freq)};
  const int hook = 1 + 16 + 1 + 2 * 3;  // before the fourth batch of the second epoch
  CHECK_THROWS_AS(script.run(hook), Interruption);
  const auto recorder = std::make_shared<Recorder>();
  script.further = {recorder};
  script.run();
  const std::string epoch = "epoch_begin " + std::to_string(first.first);
  const std::string batch = "batch_begin " + std::to_string(first.second);
  CHECK(recorder->starting_with("epoch_begin").front() == epoch);
  CHECK(recorder->starting_with("batch_begin").front() == batch);
}

TEST_CASE("backup and restore: an epoch whose steps had all run continues with its end", "[callbacks]") {
  const DataKind data = GENERATE(DataKind::arrays, DataKind::filtered, DataKind::generator, DataKind::sequence);
  const std::int64_t steps_per_execution = GENERATE(1, 4);
  Script script{.data = data, .steps_per_execution = steps_per_execution, .epochs = 3};
  const Outcome whole = script.run();
  Backup backup;
  script.backup = backup.options(1);
  const int epoch = (whole.hooks - 2) / 3;
  for (const int end : {epoch, 2 * epoch})  // after two hooks of the epoch's validation
    for (int hook = end - 2; hook <= end; ++hook) {
      CHECK_THROWS_AS(script.run(hook), Interruption);
      CHECK(script.run() == whole);
    }
}

TEST_CASE("backup and restore: shuffles and draws are those of the interrupted run, with any current seed",
          "[callbacks]") {
  Script script{.optimizer = "adam"};
  const Outcome whole = script.run();
  Backup backup;
  script.backup = backup.options(2);
  CHECK_THROWS_AS(script.run(26), Interruption);
  script.seed = 8;
  CHECK(script.run() == whole);
}

TEST_CASE("backup and restore: a model that trains again in the same process resumes from the backup too",
          "[callbacks]") {
  const Tensor x = waves({40, 3}), y = signs_of(x);
  const auto trained = [&](bool interrupted) {
    const RandomSeed of_this_run(3);
    Sequential model({layers::dense({.units = 4}), layers::dropout({.rate = 0.5}), layers::dense({.units = 1})});
    model.compile({.optimizer = "adam", .loss = "mse"});
    Backup backup;
    FitOptions options{.batch_size = 8, .epochs = 3, .verbose = 0};
    options.callbacks = {std::make_shared<Interrupter>(interrupted ? std::optional(20) : std::nullopt),
                         callbacks::backup_and_restore(backup.options(3))};
    if (interrupted) {
      CHECK_THROWS_AS(model.fit(x, y, options), Interruption);
      options.callbacks.erase(options.callbacks.begin());
    }
    const HistoryPtr history = model.fit(x, y, options);
    std::vector<double> result = weights_of(model);
    const std::vector<double>& losses = (*history)["loss"];
    result.insert(result.end(), losses.begin(), losses.end());
    return result;
  };
  CHECK(trained(true) == trained(false));
}

TEST_CASE("backup and restore: a step that was compiled before draws the numbers of the backup", "[callbacks]") {
  const Tensor x = waves({40, 3}), y = signs_of(x);
  const auto trained = [&](std::uint64_t seed, BackupAndRestoreOptions backup, std::optional<int> interrupt_at) {
    const RandomSeed of_this_run(seed);
    Sequential model({layers::dense({.units = 4}), layers::dropout({.rate = 0.5}), layers::dense({.units = 1})});
    model.compile({.optimizer = optimizers::sgd({.momentum = 0.5}), .loss = "mse"});
    if (seed != 3) model.fit(x, y, {.batch_size = 8, .verbose = 0});
    FitOptions options{.batch_size = 8, .epochs = 2, .verbose = 0};
    options.callbacks = {std::make_shared<Interrupter>(interrupt_at)};
    if (!backup.backup_dir.empty()) options.callbacks.push_back(callbacks::backup_and_restore(std::move(backup)));
    model.fit(x, y, options);
    return weights_of(model);
  };
  const std::vector<double> whole = trained(3, {}, {});
  Backup backup;
  CHECK_THROWS_AS(trained(3, backup.options(1), 9), Interruption);
  CHECK(trained(4, backup.options(1), {}) == whole);
}

TEST_CASE("backup and restore: eager steps resume as compiled ones do", "[callbacks]") {
  Script script{.optimizer = "momentum", .run_eagerly = true};
  const Outcome whole = script.run();
  Backup backup;
  script.backup = backup.options(3);
  CHECK(script.run_through({27}) == whole);
}

TEST_CASE("backup and restore: other variables of a train_step are saved too", "[callbacks]") {
  /// Two optimizers in one step, and a custom sum.
  class TwoOptimizers : public Model {
   public:
    LayerPtr dense = layers::dense({.units = 1, .kernel_initializer = "ones"});
    OptimizerPtr second = optimizers::adam({.learning_rate = 0.1});
    Variable steps{"steps", Tensor({}, DType::int32), false};
    std::vector<LayerPtr> layers() const override { return {dense}; }
    Value call(Value x, bool training) override { return (*dense)(x, training); }
    StepLogs train_step(const StepData& data) override {
      StepLogs logs = Model::train_step(data);
      const Value loss = compute_loss(data, {(*this)(data.x[0], true)});
      second->apply(gradients(loss, trainable_variables()), trainable_variables());
      Graph& graph = Graph::current();
      graph.assign(steps, graph.read(steps) + 1);
      logs.emplace_back("steps", ops::cast(graph.read(steps), DType::float32));
      return logs;
    }
  };
  const Tensor x = waves({40, 3}), y = signs_of(x);
  Backup backup;
  const auto trained = [&](std::optional<int> interrupt_at) {
    const RandomSeed of_this_run(3);
    TwoOptimizers model;
    model.compile({.optimizer = "sgd", .loss = "mse"});
    FitOptions options{.batch_size = 8, .epochs = 3, .verbose = 0};
    options.callbacks = {std::make_shared<Interrupter>(interrupt_at), callbacks::backup_and_restore(backup.options(2))};
    std::vector<double> result = (*model.fit(x, y, options))["steps"];
    for (const double weight : weights_of(model)) result.push_back(weight);
    return result;
  };
  const std::vector<double> whole = trained({});
  CHECK(whole[2] == 15);
  CHECK_THROWS_AS(trained(19), Interruption);
  CHECK(trained({}) == whole);
}

TEST_CASE("backup and restore: a damaged state is skipped for the previous one, with a warning", "[callbacks]") {
  Script script;
  const Outcome whole = script.run();
  Backup backup;
  script.backup = backup.options(1);
  script.backup.double_checkpoint = true;
  CHECK_THROWS_AS(script.run(24), Interruption);
  REQUIRE(backup.checkpoints().size() == 2);
  backup.damage(backup.checkpoints().back());
  const Outcome outcome = script.run();
  CHECK(outcome == whole);
  CHECK(outcome.hooks < whole.hooks);
  REQUIRE(backup.warnings.lines.size() == 1);
  CHECK_THAT(backup.warnings.lines[0],
             ContainsSubstring("a checkpoint was skipped") && ContainsSubstring("model.safetensors"));
}

TEST_CASE("backup and restore: one state is kept, or two with double_checkpoint; the last with delete_checkpoint off",
          "[callbacks]") {
  const bool twice = GENERATE(false, true);
  Backup backup;
  Script script{.backup = backup.options()};
  script.backup.double_checkpoint = twice;
  script.backup.delete_checkpoint = false;
  script.run();
  // Four epochs of six steps.
  CHECK(backup.checkpoints() == (twice ? std::vector<std::string>{"ckpt-00000018", "ckpt-00000024"}
                                       : std::vector<std::string>{"ckpt-00000024"}));
}

TEST_CASE("backup and restore: a finished fit does nothing more, and a fit of more epochs continues", "[callbacks]") {
  Backup backup;
  Script script{.epochs = 2};
  script.backup = backup.options();
  script.backup.delete_checkpoint = false;
  const Outcome short_one = script.run();
  Outcome again = script.run();
  CHECK(again.hooks < short_one.hooks);
  CHECK(again == short_one);
  script.epochs = 4;
  const Outcome longer = script.run();
  script.backup = {};
  CHECK(longer == script.run());
}

TEST_CASE("backup and restore: a stop by EarlyStopping is final, other stops are resumed", "[callbacks]") {
  Backup backup;
  Script script{.epochs = 3};
  const Outcome whole = script.run();
  script.backup = backup.options();
  script.backup.delete_checkpoint = false;
  SECTION("stopped in an epoch") {
    script.further = {after_step([n = 0](Model& model, std::int64_t) mutable { model.stop_training = ++n == 9; })};
    script.run();
    script.further = {};
    CHECK(script.run() == whole);
  }
  SECTION("stopped early") {
    const Tensor x = waves({40, 3}), y = signs_of(x);
    const auto epochs = [&](CallbackPtr also) {
      const RandomSeed of_this_run(1);
      Sequential model(two_dense());
      model.compile(mse(0));  // nothing improves
      FitOptions options{.batch_size = 8, .epochs = 9, .verbose = 0};
      options.callbacks = {callbacks::early_stopping({.monitor = "loss", .patience = 2}), std::move(also),
                           callbacks::backup_and_restore(script.backup)};
      return model.fit(x, y, options)->epoch();
    };
    const std::vector<int> stopped = epochs(std::make_shared<Recorder>());
    CHECK(stopped.size() < 9);
    const auto recorder = std::make_shared<Recorder>();
    CHECK(epochs(recorder) == stopped);
    CHECK(recorder->events.size() == 2);  // train_begin and train_end
  }
}

TEST_CASE("backup and restore: a state with numbers that are not finite is not saved", "[callbacks]") {
  Backup backup;
  Sequential model(two_dense());
  model.compile(mse());
  FitOptions options{.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false};
  BackupAndRestoreOptions how = backup.options(1);
  how.delete_checkpoint = false;
  Tensor x = waves({40, 3});
  const Tensor y = signs_of(x);
  x.data<float>()[8 * 3 * 3] = std::numeric_limits<float>::infinity();  // in the fourth batch, whose loss is finite
  options.callbacks = {callbacks::terminate_on_nan({.print = [](auto) {}}), callbacks::backup_and_restore(how)};
  model.fit(x, y, options);
  CHECK(backup.checkpoints() == std::vector<std::string>{"ckpt-00000003"});
}

TEST_CASE("backup and restore: a custom callback is saved by state() and restore()", "[callbacks]") {
  class Counter : public Callback {
   public:
    int steps = 0;
    void on_train_begin(Logs&) override { steps = 0; }
    void on_train_batch_end(std::int64_t, Logs&) override { ++steps; }
    CallbackState state() const override {
      CallbackState state("Counter");
      state.set("steps", steps);
      return state;
    }
    void restore(const CallbackState& state) override { steps = static_cast<int>(state.number("steps")); }
  };
  Backup backup;
  const auto first = std::make_shared<Counter>(), second = std::make_shared<Counter>();
  Script script{.backup = backup.options(5), .epochs = 2, .further = {first}};
  CHECK_THROWS_AS(script.run(24), Interruption);
  script.further = {second};
  script.run();
  CHECK(second->steps == 12);
}

TEST_CASE("backup and restore: an unusable backup is reported", "[callbacks]") {
  Backup backup;
  Script script{.backup = backup.options(1)};
  CHECK_THROWS_AS(script.run(24), Interruption);
  SECTION("all are damaged") {
    for (const std::string& name : backup.checkpoints()) backup.damage(name);
    CHECK_THAT(error_of([&] { script.run(); }), ContainsSubstring("no checkpoint in \"backup\" is undamaged"));
  }
  SECTION("it is of another model") {
    Sequential model(two_dense());
    model.compile(mse());
    const Tensor x = waves({8, 3});
    FitOptions options{.verbose = 0, .callbacks = {callbacks::backup_and_restore(script.backup)}};
    CHECK_THAT(
        error_of([&] { model.fit(x, signs_of(x), options); }),
        ContainsSubstring("training state model") && ContainsSubstring("a model of the same layers and optimizer"));
  }
  SECTION("it is no state of a training") {
    CheckpointStore("backup", {.files = backup.files}).save(testing::checkpoint_of(9000));
    CHECK_THAT(error_of([&] { script.run(); }), ContainsSubstring("\"place\""));
  }
  SECTION("another training works there") {
    const CheckpointStore other("backup", {.files = backup.files});
    CHECK_THAT(error_of([&] { script.run(); }), ContainsSubstring("is locked"));
  }
  CHECK_THAT(error_of([] { callbacks::backup_and_restore({}); }), ContainsSubstring("Empty `backup_dir` argument"));
}

TEST_CASE("backup and restore: a generator with fewer batches than before is an error", "[callbacks]") {
  Backup backup;
  const Tensor x = waves({40, 3}), y = signs_of(x);
  const auto trained = [&](std::int64_t batches, std::optional<int> interrupt_at) {
    Sequential model(two_dense());
    model.compile(mse());
    FitOptions options{.epochs = 2, .verbose = 0, .steps_per_epoch = 4};
    options.callbacks = {std::make_shared<Interrupter>(interrupt_at), callbacks::backup_and_restore(backup.options(1))};
    model.fit(batches_of(x, y, 8, batches), options);
  };
  CHECK_THROWS_AS(trained(8, 12), Interruption);
  CHECK_THAT(error_of([&] { trained(2, {}); }), ContainsSubstring("create the generator as before"));
}

}  // namespace etude
