#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <csignal>
#include <fstream>

#include "etude/experiment/detail/system_metrics.hpp"
#include "trials.hpp"

namespace etude::experiment {
namespace {

using Catch::Matchers::ContainsSubstring;

/// The use of the system since a moment before.
Logs logs_of_system() {
  SystemMetrics metrics(1e-9);
  static_cast<void>(metrics.next());
  for (;;)
    if (const std::optional<Logs> logs = metrics.next()) return *logs;
}

}  // namespace

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
