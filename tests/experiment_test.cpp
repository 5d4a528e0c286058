#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#if defined(ETUDE_THREADS)
#include <barrier>
#include <fstream>
#include <thread>
#endif

#include "environment_variable.hpp"
#include "etude/experiment/context.hpp"
#include "etude/experiment/detail/system_metrics.hpp"
#include "etude/experiment/training_callback.hpp"
#include "etude/saving/detail/json.hpp"
#include "interrupted_runs.hpp"

namespace etude::experiment {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using Uuids = std::vector<std::string>;

std::string text_in(MemoryVfs& files, const std::string& path) {
  const std::vector<std::byte> bytes = files.read(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The lines of a file of JSON Lines.
std::vector<Json> lines_in(MemoryVfs& files, const std::string& path) {
  std::vector<Json> lines;
  const std::string text = text_in(files, path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    REQUIRE(end != text.npos);
    lines.push_back(parse_json(std::string_view(text).substr(begin, end - begin), path));
    begin = end + 1;
  }
  return lines;
}

/// The reported groups and steps: "validation 6".
Texts reports_in(MemoryVfs& files) {
  Texts reports;
  for (const Json& line : lines_in(files, "trial/metrics.jsonl"))
    if (line.contains("group"))
      reports.push_back(line["group"].get<std::string>() + ' ' + std::to_string(line["steps_completed"].get<int>()));
  return reports;
}

/// A detached trial, whose program may be started several times.
struct Trial {
  std::shared_ptr<MemoryVfs> files = std::make_shared<MemoryVfs>();
  TrainingOptions training = {};
  Config config = {.trial = {.trial_id = "1"}, .storage = "trial", .tensorboard = false};
  Script script = {.optimizer = "adam", .epochs = 2};

  Config with_files() const {
    Config result = config;
    result.files = files;
    return result;
  }
  /// Starts the program, which may be interrupted at a hook.
  Outcome run(std::optional<int> interrupt_at = {}) {
    Context context(with_files());
    Script started = script;
    started.further.push_back(std::make_shared<TrainingCallback>(context, training));
    return started.run(interrupt_at);
  }
  std::vector<StoredCheckpoint> checkpoints() const { return list_checkpoints("trial/checkpoints", files); }
};

/// The epochs of the checkpoints of a trial.
std::vector<std::int64_t> epochs_of(const Trial& trial) {
  std::vector<std::int64_t> epochs;
  for (const StoredCheckpoint& stored : trial.checkpoints()) epochs.push_back(stored.metadata.integer("epoch"));
  return epochs;
}

/// The use of the system since a moment before.
Logs logs_of_system() {
  SystemMetrics metrics(1e-9);
  static_cast<void>(metrics.next());
  for (;;)
    if (const std::optional<Logs> logs = metrics.next()) return *logs;
}

/// Requests the end of the trial during a hook, counted as by Interrupter.
class Requester : public Interrupter {
 public:
  Requester(bool& request, int hook) : Interrupter(hook), request_(request) {}

 protected:
  void interrupt() override { request_ = true; }

 private:
  bool& request_;
};

#if defined(ETUDE_THREADS)
/// Two processes: two threads.
struct Pair {
  std::barrier<> barrier{2};
  std::array<std::vector<std::byte>, 2> parts;

  class Member : public Workers {
   public:
    Member(Pair& pair, int rank) : pair_(pair), rank_(rank) {}
    std::string_view name() const override { return "pair"; }
    int rank() const override { return rank_; }
    int count() const override { return 2; }
    void all_reduce(std::span<const ReplicaSum>) override {}
    void broadcast(std::span<std::byte> memory) override {
      exchange(memory);
      std::ranges::copy(pair_.parts[0], memory.begin());
      pair_.barrier.arrive_and_wait();
    }
    using Workers::all_gather;
    void all_gather(std::span<const std::byte> own, std::span<const std::size_t>, std::byte* all) override {
      exchange(own);
      for (const auto& part : pair_.parts) all = std::ranges::copy(part, all).out;
      pair_.barrier.arrive_and_wait();
    }

   private:
    void exchange(std::span<const std::byte> own) {
      pair_.parts[static_cast<std::size_t>(rank_)].assign(own.begin(), own.end());
      pair_.barrier.arrive_and_wait();
    }
    Pair& pair_;
    const int rank_;
  };
};
#endif

}  // namespace

TEST_CASE("experiment: the union of the retention rules stays", "[experiment]") {
  // The table of "Checkpoint Garbage Collection" in Determined's reference of experiment configurations, 0.38.
  std::vector<StoredCheckpoint> all;
  const auto add = [&](const char* trial, std::optional<double> score) {
    const std::size_t number = all.size() + 1;
    all.push_back({.uuid = std::to_string(number), .trial_id = trial, .serial = number, .score = score});
  };
  for (const std::optional<double> score : {std::optional<double>(), {}, {0.6}, {0.5}, {0.4}}) add("1", score);
  for (const std::optional<double> score : {std::optional<double>(), {0.2}, {0.3}, {}, {}}) add("2", score);
  const auto [experiment_best, trial_best, trial_latest, kept] =
      GENERATE(std::tuple(0, 0, 0, Uuids{}), std::tuple(2, 0, 0, Uuids{"7", "8"}),
               std::tuple(5, 0, 0, Uuids{"3", "4", "5", "7", "8"}), std::tuple(0, 1, 0, Uuids{"5", "7"}),
               std::tuple(0, 3, 0, Uuids{"3", "4", "5", "7", "8"}), std::tuple(0, 0, 1, Uuids{"5", "10"}),
               std::tuple(0, 0, 3, Uuids{"3", "4", "5", "8", "9", "10"}), std::tuple(2, 1, 0, Uuids{"5", "7", "8"}),
               std::tuple(2, 0, 1, Uuids{"5", "7", "8", "10"}), std::tuple(0, 1, 1, Uuids{"5", "7", "10"}),
               std::tuple(2, 1, 1, Uuids{"5", "7", "8", "10"}));
  RetentionRules rules{experiment_best, trial_best, trial_latest};
  CHECK(kept_checkpoints(all, rules) == kept);
  // The same if greater scores are better, and all are negated.
  rules.smaller_is_better = false;
  for (StoredCheckpoint& checkpoint : all)
    if (checkpoint.score) checkpoint.score = -*checkpoint.score;
  CHECK(kept_checkpoints(all, rules) == kept);
}

TEST_CASE("experiment: checkpoints appear when they are complete, and are removed as a whole", "[experiment]") {
  const Trial trial;
  std::string uuid;
  {
    Context context(trial.with_files());
    {
      NewCheckpoint made = context.checkpoint.store_path({{"steps_completed", 7}, {"note", "first"}});
      trial.files->open(made.path() + "/weights", false)->append("w");
      CHECK(context.checkpoint.list().empty());
      made.commit(0.5);
      uuid = made.uuid();
      const NewCheckpoint abandoned = context.checkpoint.store_path();
    }
    REQUIRE(context.checkpoint.list().size() == 1);
    const StoredCheckpoint stored = context.checkpoint.list().front();
    CHECK(stored.trial_id == "1");
    CHECK(stored.score == 0.5);
    CHECK(stored.metadata.integer("steps_completed") == 7);
    CHECK(stored.metadata.text("note") == "first");
    CHECK(text_in(*trial.files, context.checkpoint.restore_path(uuid) + "/weights") == "w");
    CHECK(trial.files->list("trial/checkpoints") == Uuids{uuid});
    CHECK_THAT(error_of([&] { static_cast<void>(context.checkpoint.restore_path("x")); }),
               ContainsSubstring("expected the uuid of a checkpoint in \"trial/checkpoints\""));
  }
  // What a killed program left is removed; that of another trial stays.
  const std::string unfinished = "trial/checkpoints/.tmp-1-" + uuid, other = "trial/checkpoints/.tmp-2-" + uuid;
  trial.files->make_folder(unfinished);
  trial.files->make_folder(other);
  Context context(trial.with_files());
  CHECK_FALSE(trial.files->exists(unfinished));
  CHECK(trial.files->exists(other));
  CHECK_FALSE(context.info.latest_checkpoint.has_value());  // it is no state of a training
  context.checkpoint.remove(uuid);
  CHECK(context.checkpoint.list().empty());
}

TEST_CASE("experiment: a trial that is interrupted and started again ends with the bits of an undisturbed one",
          "[experiment]") {
  // The hooks are train_begin, and for each epoch its begin, two for each of six batches, two of validation, and its
  // end.
  const Outcome whole = Trial().script.run();
  const auto [checkpoint_freq, first_after] =
      GENERATE(std::pair(SaveFrequency("epoch"), std::int64_t{6}), std::pair(SaveFrequency(4), std::int64_t{8}));
  for (const int hook : {5, 16, 23}) {
    INFO("hook " << hook);
    Trial trial;
    trial.training.checkpoint_freq = checkpoint_freq;
    CHECK_THROWS_AS(trial.run(hook), Interruption);
    if (hook == 23) CHECK(trial.checkpoints().back().metadata.integer("steps_completed") == first_after);
    CHECK(trial.run() == whole);
    CHECK(reports_in(*trial.files) == Texts{"training 6", "validation 6", "training 12", "validation 12"});
  }
}

TEST_CASE("experiment: a trial that is preempted at any moment loses no step", "[experiment]") {
  const Outcome whole = Trial().script.run();
  for (const int hook : {1, 5, 14, 16, 20, 31}) {
    INFO("hook " << hook);
    Trial trial;
    bool request = false;
    trial.config.preempt.requested = [&] { return request; };
    trial.training.checkpoint_freq = std::nullopt;
    trial.training.checkpoint_policy = "none";
    trial.script.further = {std::make_shared<Requester>(request, hook)};
    CHECK_THROWS_AS(trial.run(), Preempted);
    CHECK(lines_in(*trial.files, "trial/metrics.jsonl").back()["status"] == "preempted");
    REQUIRE(trial.checkpoints().size() == 1);
    // Hooks 2 to 13 are those of the first epoch's batches; a request between them ends the trial after the next one.
    const int batches = hook > 16 ? 6 + (hook - 16) / 2 : std::clamp(hook / 2, 1, 6);
    CHECK(trial.checkpoints().front().metadata.integer("steps_completed") == std::min(batches, 12));
    request = false;
    trial.script.further.clear();
    CHECK(trial.run() == whole);
  }
}

TEST_CASE("experiment: the checkpoint of another trial gives its weights only", "[experiment]") {
  Trial first;
  first.run();
  const StoredCheckpoint stored = first.checkpoints().back();
  const ModelPtr trained = Context(first.with_files()).load_model_from_checkpoint(stored.uuid);
  Trial fork;
  fork.files = first.files;
  fork.config.trial.trial_id = "2";
  fork.training.checkpoint = stored.uuid;
  std::vector<Tensor> weights;
  std::int64_t iterations = -1;
  std::int64_t epochs = 0;
  class Look : public Callback {
   public:
    std::function<void(Model&, int)> see;
    void on_epoch_begin(int epoch, Logs&) override { see(model(), epoch); }
  };
  const auto looking = std::make_shared<Look>();
  looking->see = [&](Model& model, int epoch) {
    ++epochs;
    if (epoch != 0) return;
    weights = model.get_weights();
    iterations = model.optimizer().iterations();
  };
  fork.script.further = {looking};
  bool request = false;
  fork.config.preempt.requested = [&] { return request; };
  fork.script.further.push_back(std::make_shared<Requester>(request, 20));
  CHECK_THROWS_AS(fork.run(), Preempted);
  CHECK(epochs == 2);
  CHECK(iterations == 0);
  const std::vector<Tensor> wanted = trained->get_weights();
  REQUIRE(weights.size() == wanted.size());
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(testing::same_bits(weights[i], wanted[i]));
  // Started again, it continues from its own checkpoint.
  request = false;
  fork.script.further.pop_back();
  fork.run();
  CHECK(epochs == 3);
  // A trial that continues the other one has nothing left to do.
  fork.config.trial.trial_id = "3";
  fork.training.continue_id = "1";
  CHECK(fork.run().epochs == std::vector<int>{0, 1});
  CHECK(epochs == 3);
}

TEST_CASE("experiment: a trial keeps its best and its newest checkpoint, and loads the best by its id",
          "[experiment]") {
  Trial trial;
  trial.script.epochs = 5;
  trial.script.patience = 9;
  const Outcome outcome = trial.run();
  const std::vector<double>& losses =
      std::ranges::find(outcome.history, "val_loss", [](const auto& entry) { return entry.first; })->second;
  const auto best = std::ranges::min_element(losses) - losses.begin();
  CHECK(epochs_of(trial) == (best == 4 ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{best, 4}));
  Context context(trial.with_files());
  const ModelPtr model = context.load_model_from_checkpoint("1");
  const Tensor x = waves({12, 5}, 0.5);
  CHECK(model->evaluate(x, signs_of(x), {.verbose = 0})["loss"] ==
        Catch::Approx(losses[static_cast<std::size_t>(best)]));
  CHECK_THAT(error_of([&] { static_cast<void>(context.load_model_from_checkpoint("3")); }),
             ContainsSubstring("\"3\" - expected the uuid of a checkpoint"));
}

TEST_CASE("experiment: the checkpoint policy says after which validations there is a checkpoint, also after a restart",
          "[experiment]") {
  Trial trial;
  trial.script.epochs = 5;
  trial.script.patience = 9;
  trial.training.checkpoint_freq = std::nullopt;
  trial.config.retention = {.save_trial_best = 0, .save_trial_latest = 9};
  SECTION("best: better than all before") {
    trial.config.retention.smaller_is_better = false;  // the loss falls: the first ones are the best
    CHECK_THROWS_AS(trial.run(40), Interruption);      // in the third epoch
    const Outcome outcome = trial.run();
    const auto losses =
        std::ranges::find(outcome.history, "val_loss", [](const auto& entry) { return entry.first; })->second;
    std::vector<std::int64_t> expected;
    for (std::size_t epoch = 0; epoch < losses.size(); ++epoch) {
      const auto before = losses.begin() + static_cast<std::ptrdiff_t>(epoch);
      if (std::all_of(losses.begin(), before, [&](double loss) { return loss < losses[epoch]; }))
        expected.push_back(static_cast<std::int64_t>(epoch));
    }
    REQUIRE(expected.size() < 4);
    if (expected.back() != 4) expected.push_back(4);  // the end
    CHECK(epochs_of(trial) == expected);
  }
  SECTION("all") {
    trial.training.checkpoint_policy = "all";
    trial.run();
    CHECK(epochs_of(trial) == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  }
  SECTION("none: only at the end") {
    trial.training.checkpoint_policy = "none";
    trial.run();
    CHECK(epochs_of(trial) == std::vector<std::int64_t>{4});
  }
  SECTION("an unknown one is an error") {
    trial.training.checkpoint_policy = "often";
    CHECK_THAT(error_of([&] { trial.run(); }), ContainsSubstring("expected \"best\", \"all\" or \"none\""));
  }
}

TEST_CASE("experiment: the validation of an interrupted epoch scores the checkpoint that was stored before it",
          "[experiment]") {
  const auto scores = [](std::optional<int> interrupt_at) {
    Trial trial;
    trial.training.checkpoint_freq = 3;  // of the 6 batches of an epoch
    trial.config.retention = {.save_trial_best = 9, .save_trial_latest = 9};
    try {
      trial.run(interrupt_at);  // to the end, if there are fewer hooks
    } catch (const Interruption&) {
      trial.run();
    }
    std::vector<std::pair<std::int64_t, std::optional<double>>> result;
    for (const StoredCheckpoint& stored : trial.checkpoints())
      result.emplace_back(stored.metadata.integer("steps_completed"), stored.score);
    return result;
  };
  const auto undisturbed = scores({});
  REQUIRE(std::ranges::count_if(undisturbed, [](const auto& each) { return each.second.has_value(); }) >= 2);
  for (int hook = 1; hook < 60; ++hook) {
    CAPTURE(hook);
    CHECK(scores(hook) == undisturbed);
  }
}

TEST_CASE("experiment: system_metrics_interval reports the use of the machine between steps; by default nothing does",
          "[experiment]") {
  Trial trial;
  trial.run();
  for (const Json& line : lines_in(*trial.files, "trial/metrics.jsonl"))
    CHECK((!line.contains("group") || line["group"] != "system"));
  Trial measured;
  measured.training.system_metrics_interval = 1e-9;
  measured.run();
  std::vector<Json> reports;
  for (const Json& line : lines_in(*measured.files, "trial/metrics.jsonl"))
    if (line.contains("group") && line["group"] == "system") reports.push_back(line);
  if (system_usage().memory) {
    REQUIRE(reports.size() == 11);  // after each of 12 steps, compared with the one before
    CHECK(reports.front()["steps_completed"] == 2);
    for (const Json& report : reports) CHECK(report["metrics"]["memory"] > 1e6);
  }
#if defined(__linux__)
  for (const char* name : {"memory_free", "net_received", "net_sent"}) CHECK(reports.back()["metrics"][name] >= 0);
  const auto ticks = [] {  // of all processors
    std::ifstream stat("/proc/stat");
    std::string name;
    double sum = 0, number = 0;
    stat >> name;
    for (int i = 0; i < 8 && stat >> number; ++i) sum += number;
    return sum;
  };
  const double least = ticks();
  const SystemUsage before = system_usage();
  CHECK((least <= *before.processors_all && *before.processors_all <= ticks()));
  while (*system_usage().processors_all <= *before.processors_all) continue;  // it ticks every 10 ms
  const SystemUsage after = system_usage();
  CHECK(*after.processors_busy - *before.processors_busy <= *after.processors_all - *before.processors_all);
#endif
  struct Roomy : Cpu {
    std::size_t free_memory() const override { return 5; }
  } roomy;
  set_default_device(roomy);
  CHECK(logs_of_system()["gpu_memory_free"] == 5);
  set_default_device(cpu_device());
  CHECK_FALSE(logs_of_system().contains("gpu_memory_free"));
  measured.training.system_metrics_interval = -1;
  CHECK_THAT(error_of([&] { measured.run(); }), ContainsSubstring("system_metrics_interval = -1"));
}

TEST_CASE("experiment: context.fit reports and stores like the callback; a context trains one fit", "[experiment]") {
  Trial trial;
  const Tensor x = waves({8, 3}), y = signs_of(x);
  Sequential model(two_dense());
  model.compile(mse());
  Context context(trial.with_files());
  const HistoryPtr history = context.fit(model, x, y,
                                         {.batch_size = 4,
                                          .epochs = 3,
                                          .verbose = 0,
                                          .validation_data = Data(x, y),
                                          .validation_freq = std::vector<int>{1, 3}},
                                         {.report_freq = 2});
  CHECK(history->epoch() == std::vector<int>{0, 1, 2});
  CHECK(reports_in(*trial.files) == Texts{"training 2", "validation 2", "training 4", "training 6", "validation 6"});
  const std::vector<Json> lines = lines_in(*trial.files, "trial/metrics.jsonl");
  CHECK(lines[1]["metrics"]["loss"].get<double>() == (*history)["val_loss"][0]);
  CHECK(lines[1]["metrics"]["epochs"] == 1);
  CHECK(lines[1]["time"].get<double>() > 1.7e9);
  CHECK(lines.back()["progress"] == 1);
  CHECK_THAT(error_of([&] { context.fit(model, x, y, {.verbose = 0}); }),
             ContainsSubstring("[experiment] a second fit with this context - expected one"));
}

TEST_CASE("experiment: reports are lines of JSON; a crash loses at most the unfinished one", "[experiment]") {
  Trial trial;
  const auto report = [&](bool continues, std::int64_t steps) {
    Context context(trial.with_files());
    if (continues) context.train.continue_reports();
    context.train.report_metrics("validation", steps, {{"loss", std::nan("")}, {"a \"b\"", 0.1}});
    context.train.report_progress(0.5);
    context.train.set_status("evaluating");
  };
  report(false, 3);
  const std::string path = "trial/metrics.jsonl", complete = text_in(*trial.files, path);
  CHECK_THAT(complete,
             Catch::Matchers::StartsWith("{\"group\":\"validation\",\"steps_completed\":3,\"metrics\":{\"loss\":null,"
                                         "\"a \\\"b\\\"\":0.1},\"time\":"));
  CHECK_THAT(complete, Catch::Matchers::EndsWith("}\n{\"progress\":0.5}\n{\"status\":\"evaluating\"}\n"));
  trial.files->open(path, true)->append("{\"group\":\"validation\",\"steps_com");
  report(true, 3);  // was reported before
  report(true, 4);
  CHECK(text_in(*trial.files, path).starts_with(complete));
  CHECK(reports_in(*trial.files) == Texts{"validation 3", "validation 4"});
  Context context(trial.with_files());
  CHECK_THAT(error_of([&] { context.train.report_progress(2); }), ContainsSubstring("expected a number from 0 to 1"));
  CHECK_THAT(error_of([&] { Context second(trial.with_files()); }), ContainsSubstring("is locked"));
}

#if defined(ETUDE_THREADS)
TEST_CASE("experiment: several processes share the batches, and all end if one of them is asked", "[experiment]") {
  Trial trial;
  std::array<std::vector<std::int64_t>, 2> processed;
  std::array<int, 2> codes{};
  const auto start = [&](bool asks) {
    Pair pair;
    const auto run = [&](std::size_t rank) {
      Config config = trial.with_files();
      config.workers = std::make_shared<Pair::Member>(pair, static_cast<int>(rank));
      config.preempt.requested = [&, rank] { return asks && rank == 1 && !processed[1].empty(); };
      codes[rank] = trial_main(
          [&](Context& context) {
            context.train.set_status("processing");
            context.batch_process(Dataset::range(0, 9).batch(2),
                                  [&](const Batch&, std::int64_t index) { processed[rank].push_back(index); },
                                  {.checkpoint_interval = 2});
          },
          config);
    };
    std::thread other(run, 1);
    run(0);
    other.join();
  };
  start(true);
  CHECK(codes == std::array{143, 143});
  CHECK(processed[0] == std::vector<std::int64_t>{0, 2});
  CHECK(processed[1] == std::vector<std::int64_t>{1});
  start(false);
  CHECK(codes == std::array{0, 0});
  CHECK(processed[0] == std::vector<std::int64_t>{0, 2, 4});
  CHECK(processed[1] == std::vector<std::int64_t>{1, 3});
  CHECK(lines_in(*trial.files, "trial/metrics.jsonl").size() == 3);  // of rank 0
  // Each process predicts other batches, so a model of all of them would mix their rows.
  Pair pair;
  std::array<std::string, 2> errors;
  const auto predict = [&](std::size_t rank) {
    Config config = trial.with_files();
    config.workers = std::make_shared<Pair::Member>(pair, static_cast<int>(rank));
    errors[rank] = error_of([&] {
      Context context(config);
      const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(config.workers);
      const auto scope = strategy->scope();
      Sequential model({layers::dense({.units = 1})});
      context.batch_process(model, Dataset::range(0, 9).batch(2),
                            [](const std::vector<Tensor>&, const Batch&, std::int64_t) {});
    });
  };
  std::thread other(predict, 1);
  predict(0);
  other.join();
  for (const std::string& error : errors)
    CHECK_THAT(error, ContainsSubstring("[batch_process] a model of a strategy of several processes"));
  CHECK_THAT(error_of([&] {
               Context context(trial.with_files());
               context.batch_process(Dataset::range(0, 9), [](const Batch&, std::int64_t) {});
             }),
             ContainsSubstring("is of 2 processes - expected 1"));
}
#endif

TEST_CASE("experiment: batches are processed once, also if the trial is preempted or interrupted", "[experiment]") {
  Trial trial;
  const std::optional<std::int64_t> max_batches = GENERATE(std::optional<std::int64_t>(), 5);
  const std::int64_t count = max_batches.value_or(7);
  bool request = false;
  trial.config.preempt.requested = [&] { return request; };
  const Dataset dataset = Dataset::range(0, 13).batch(2);
  std::vector<std::int64_t> processed;
  int finished = 0, throw_at = -1;
  const auto start = [&] {
    Context context(trial.with_files());
    context.batch_process(dataset,
                          [&](const Batch& batch, std::int64_t index) {
                            CHECK(batch.x[0].at(0) == 2 * static_cast<double>(index));
                            if (index == throw_at) throw Interruption{};
                            processed.push_back(index);
                            request = index == 2;
                          },
                          {.checkpoint_interval = 2, .max_batches = max_batches, .on_finish = [&] { ++finished; }});
  };
  CHECK_THROWS_AS(start(), Preempted);
  CHECK(processed == std::vector<std::int64_t>{0, 1, 2});
  request = false;
  throw_at = 4;  // of the batches since the last stored position, the trial repeats those before
  CHECK_THROWS_AS(start(), Interruption);
  throw_at = -1;
  start();
  std::vector<std::int64_t> all{0, 1, 2, 3};
  for (std::int64_t i = 3; i < count; ++i) all.push_back(i);
  CHECK(processed == all);
  CHECK(finished == 1);
  start();  // nothing is left
  CHECK(processed == all);
}

TEST_CASE("experiment: a trial begins with the file that its environment names", "[experiment]") {
  const auto files = std::make_shared<MemoryVfs>();
  const testing::EnvironmentVariable variable("ETUDE_TRIAL", "trial.json");
  const auto write = [&](const std::string& text) { files->open("trial.json", false)->append(text); };
  write(R"({"trial_id": 3, "experiment_id": "e", "trial_seed": 7, "storage": "trials/3", "latest_checkpoint": null,
            "retention": {"save_experiment_best": 2, "save_trial_latest": 0},
            "checkpoint_storage": "all", "metric": "val_accuracy", "smaller_is_better": false,
            "hparams": {"rate": 1, "units": 8.0, "bias": true, "act": "relu", "sizes": [1, 2.5],
                        "optimizer": {"name": "sgd"}}})");
  Context context({.files = files});
  CHECK(context.info.trial.trial_id == "3");
  CHECK(context.info.trial.trial_seed == 7);
  CHECK_FALSE(context.info.detached);
  CHECK(context.metric() == "accuracy");
  CHECK(context.retention() ==
        RetentionRules{.save_experiment_best = 2, .save_trial_latest = 0, .smaller_is_better = false});
  CHECK(context.checkpoint.folder() == "all");
  const Settings& hparams = context.info.trial.hparams;
  CHECK(hparams.number("rate") == 1);
  CHECK(hparams.integer("units") == 8);
  CHECK(hparams.flag("bias"));
  CHECK(hparams.text("act") == "relu");
  CHECK(hparams.numbers("sizes") == std::vector<double>{1, 2.5});
  CHECK(hparams.group("optimizer").text("name") == "sgd");
  CHECK(hparams.number("momentum", 0.9) == 0.9);
  CHECK(hparams.names() == Texts{"rate", "units", "bias", "act", "sizes", "optimizer"});
  CHECK_THAT(error_of([&] { hparams.group("optimizer").number("decay"); }),
             ContainsSubstring("[hparams.optimizer] no value \"decay\" - expected one of: \"name\""));
  CHECK_THAT(error_of([&] { hparams.integer("act"); }),
             ContainsSubstring("[hparams] \"act\" = \"relu\" - expected a number without a fraction"));

  const auto refusal = [&](const std::string& text) {
    write(text);
    return error_of([&] { cluster_info(files); });
  };
  CHECK_THAT(refusal(R"({"trial_id": 3, "hparams": {}})"), ContainsSubstring("\"trial.json\" has no \"storage\""));
  CHECK_THAT(refusal(R"({"trial_id": "a/b", "hparams": {}, "storage": "s"})"),
             ContainsSubstring("trial_id = \"a/b\" - expected letters"));
  CHECK_THAT(refusal(R"({"trial_id": 1, "hparams": [], "storage": "s"})"),
             ContainsSubstring("\"hparams\" = [] in \"trial.json\" - expected an object"));
  CHECK_THAT(refusal(R"({"trial_id": 1, "hparams": {}, "storage": "s", "retention": {"save_trial_best": 5000000000}})"),
             ContainsSubstring("\"save_trial_best\" = 5000000000 in \"trial.json\" - expected a number of 0 or more"));
  CHECK_THAT(refusal("[1]"), ContainsSubstring("is no JSON object"));
  files->remove("trial.json");
  CHECK_THAT(error_of([&] { cluster_info(files); }), ContainsSubstring("which does not exist"));
}

TEST_CASE("experiment: the information has the rank and the addresses of the processes that TF_CONFIG lists",
          "[experiment]") {
  const testing::EnvironmentVariable no_trial("ETUDE_TRIAL", nullptr);
  const auto info_of = [](const char* config) {
    const testing::EnvironmentVariable variable("TF_CONFIG", config);
    return cluster_info();
  };
  const ClusterInfo third = info_of(
      R"({"cluster": {"chief": ["a:1"], "worker": ["b:2", "[::1]:3"]}, "task": {"type": "worker", "index": 1}})");
  CHECK(third.container_rank == 2);
  CHECK(third.container_addrs == Texts{"a", "b", "[::1]"});
  for (const char* config : {static_cast<const char*>(nullptr), "no JSON", "[]", R"({"cluster": 1})"}) {
    const ClusterInfo alone = info_of(config);
    CHECK(alone.container_rank == 0);
    CHECK(alone.container_addrs == Texts{"127.0.0.1"});
  }
}

TEST_CASE("experiment: a program of a trial has an exit code for each of its ends", "[experiment]") {
  const Trial trial;
  testing::Warnings warnings;
  Config config = trial.with_files();
  config.warn = warnings.sink();
  CHECK(trial_main([](Context&) {}, config) == 0);
  CHECK(trial_main([](Context&) { throw Preempted(); }, config) == 143);
  if (host().watch_termination) {  // where there are signals
    const auto ask = [](Context& context) {
      std::raise(SIGTERM);
      if (context.preempt.should_preempt()) throw Preempted();
    };
    CHECK(trial_main(ask, config) == 143);
  }
  CHECK(trial_main([](Context&) { throw InvalidHP("more heads than units"); }, config) == 0);
  const Json line = lines_in(*trial.files, "trial/metrics.jsonl").back();
  CHECK(line == Json{{"status", "invalid_hp"}, {"message", "more heads than units"}});
  CHECK(warnings.lines.empty());
  CHECK(trial_main([](Context&) { throw std::runtime_error("no memory"); }, config) == 1);
  CHECK(warnings.lines == Texts{"no memory"});
}

TEST_CASE("experiment: invalid settings and calls are errors that say what to do", "[experiment]") {
  Trial trial;
  SECTION("beside BackupAndRestore") {
    Backup backup;
    trial.script.backup = backup.options();
    CHECK_THAT(error_of([&] { trial.run(); }), ContainsSubstring("a TrainingCallback beside a BackupAndRestore"));
  }
  SECTION("a checkpoint without a training") {
    {
      Context context(trial.with_files());
      NewCheckpoint made = context.checkpoint.store_path();
      made.commit();
      trial.training.checkpoint = made.uuid();
    }
    CHECK_THAT(error_of([&] { trial.run(); }), ContainsSubstring("holds no state of a training"));
  }
  SECTION("negative numbers to keep") {
    trial.config.retention.save_trial_best = -1;
    CHECK_THAT(error_of([&] { trial.run(); }), ContainsSubstring("save_trial_best = -1"));
  }
  SECTION("a metric that the validation lacks") {
    trial.config.metric = "val_auc";
    CHECK_THAT(error_of([&] { trial.run(); }), ContainsSubstring("the metric \"auc\" is not in the logs of the "
                                                                 "validation - expected one of: loss, accuracy"));
  }
}

}  // namespace etude::experiment
