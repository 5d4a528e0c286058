#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "etude/base/error.hpp"
#include "etude/experiment/checkpoint_context.hpp"
#include "etude/experiment/search/run_search.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

// Searches whose trials are child processes: small programs for sh. They read x from trial.json and report losses.
namespace etude::experiment {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::error_of;
using testing::ScratchFolder;
using Status = TrialReport::Status;
namespace hp = hyperparameters;

/// Defines `report`: x is the loss after that many steps.
constexpr const char* functions = R"sh(
  cd "$(dirname "$ETUDE_TRIAL")"
  x=$(sed -n 's/.*"x": *\([0-9]*\).*/\1/p' trial.json)
  report() { echo "{\"group\":\"validation\",\"steps_completed\":$1,\"metrics\":{\"loss\":$x}}" >> metrics.jsonl; }
)sh";

/// A search for x among these values, one trial after the other.
SearchConfig config_of(const ScratchFolder& folder, SearcherOptions searcher, std::vector<HyperparameterValue> values) {
  searcher.metric = "val_loss";  // in a line of a validation: "loss"
  return {.searcher = std::move(searcher),
          .space = {{"x", hp::categorical(std::move(values))}},
          .max_restarts = 2,
          .storage = folder.path() + "/search",
          .seed = 1};
}

/// With a deadline: a search that takes 20 seconds is interrupted.
SearchRunOptions options_of(const std::string& program) {
  return {.program = {"sh", "-c", functions + program},
          .processes = 1,
          .grace = 10,
          .wait =
              [waited = 0.0](double seconds) mutable {
                ::usleep(static_cast<useconds_t>(1e6 * seconds));
                return (waited += seconds) > 20;
              },
          .interval = 0.002};
}

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "1 {"x":3} finished 3, ..": each trial with its end and its best loss.
std::string text_of(const SearchResult& result) {
  constexpr const char* names[] = {"waiting", "running", "stopping", "finished", "failed", "invalid"};
  std::string text;
  for (const TrialReport& each : result.trials) {
    if (!text.empty()) text += ", ";
    text += std::to_string(each.trial) + ' ' + each.hparams + ' ' +
            (each.stopped ? "stopped" : names[static_cast<int>(each.status)]);
    if (each.best) text += ' ' + std::to_string(static_cast<int>(*each.best));
  }
  return text;
}

TEST_CASE("each trial has a folder with its description, its metrics and its output", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearchConfig config = config_of(folder, {.name = "grid"}, {5, 3, 4});
  const SearchResult result = run_search(config, options_of("report 10; echo output; exit 0"));
  CHECK(result.done);
  CHECK(text_of(result) == R"(1 {"x":5} finished 5, 2 {"x":3} finished 3, 3 {"x":4} finished 4)");
  CHECK(result.best == 2);
  CHECK(result.trials[0].time == 10);
  const std::string trial = config.storage + "/trial_2";
  CHECK(text_in(trial + "/log.txt") == "output\n");
  const std::string description = text_in(trial + "/trial.json");
  for (const std::string& part :
       {std::string("\"trial_id\": \"2\""), std::string("\"experiment_id\": \"search\""), std::string("\"x\": 3"),
        std::string("\"latest_checkpoint\": null"), "\"storage\": \"" + trial + '"', std::string("\"restarts\": 0"),
        std::string("\"trial_seed\": "), std::string("\"metric\": \"val_loss\"")})
    CHECK_THAT(description, ContainsSubstring(part));
}

TEST_CASE("a trial that the searcher stops gets SIGTERM, and SIGKILL if it ignores that", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearchConfig config = config_of(folder, {.name = "asha", .max_time = 4, .max_trials = 2, .max_rungs = 2}, {1});
  SearchRunOptions options = options_of("");
  SECTION("it saves and exits") {
    options = options_of("trap 'echo saved; exit 143' TERM; report 4; while :; do sleep 0.01; done");
    const SearchResult result = run_search(config, options);
    CHECK(text_of(result) == R"(1 {"x":1} finished 1, 2 {"x":1} finished 1)");
    CHECK(text_in(config.storage + "/trial_1/log.txt") == "saved\n");
  }
  SECTION("it ignores SIGTERM") {
    options = options_of("trap '' TERM; report 4; while :; do sleep 0.01; done");
    options.grace = 0.02;
    CHECK(run_search(config, options).done);
  }
}

TEST_CASE("the rules of the config decide which checkpoints of all trials stay at the end, also of a search that ended",
          "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  SearchConfig config = config_of(folder, {.name = "grid"}, {5, 3, 4});
  const std::string program = R"(
    for n in 0 1; do
      to=checkpoints/0000000$x-0000-4000-8000-00000000000$n; mkdir -p $to
      echo "{\"uuid\":\"\",\"trial_id\":\"$x\",\"experiment_id\":\"e\",\"serial\":$((n + 1)),\"score\":$x$n," \
           "\"metadata\":{}}" > $to/metadata.json
    done
    report 10)";
  const auto checkpoints = [&] {
    std::string names;
    for (int trial = 1; trial <= 3; ++trial)
      for (const StoredCheckpoint& each :
           list_checkpoints(config.storage + "/trial_" + std::to_string(trial) + "/checkpoints"))
        names += std::to_string(static_cast<int>(*each.score)) + ' ';
    return names;
  };
  const RetentionRules two{.save_experiment_best = 2, .save_trial_best = 0, .save_trial_latest = 0};
  SECTION("at the end") {
    config.retention = two;
    CHECK(run_search(config, options_of(program)).done);
    CHECK(checkpoints() == "30 31 ");
    CHECK_THAT(text_in(config.storage + "/trial_1/trial.json"), ContainsSubstring("\"save_experiment_best\": 2"));
  }
  SECTION("with a metric of which more is better") {
    config.retention = two;
    config.searcher.smaller_is_better = false;
    CHECK(run_search(config, options_of(program)).done);
    CHECK(checkpoints() == "50 51 ");
  }
  SECTION("of a search that ended without them") {
    run_search(config, options_of(program));
    CHECK(checkpoints() == "50 51 30 31 40 41 ");
    config.retention = {.save_experiment_best = 3, .save_trial_best = 0, .save_trial_latest = 0};
    CHECK(run_search(config, options_of(program)).done);
    CHECK(checkpoints() == "30 31 40 ");
    config.retention = {.save_experiment_best = 0, .save_trial_best = 0, .save_trial_latest = 1};
    CHECK(run_search(config, options_of(program)).done);
    CHECK(checkpoints() == "31 40 ");
  }
}

TEST_CASE("a trial that failed is started again from its latest checkpoint, without a line that it did not complete",
          "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  SearchConfig config = config_of(folder, {.name = "single"}, {7});
  const char* program = R"(
    grep latest_checkpoint trial.json
    touch ../runs; runs=$(wc -l < ../runs); echo run >> ../runs
    mkdir -p checkpoints/c$runs checkpoints/.tmp-9; echo "{\"serial\": $((20 - runs))}" > checkpoints/c$runs/metadata.json
    if [ $runs -lt 2 ]; then report $runs; printf '{"group":"valid' >> metrics.jsonl; exit 3; fi
    report $runs)";
  SECTION("as often as max_restarts allows") {
    const SearchResult result = run_search(config, options_of(program));
    CHECK(text_of(result) == R"(1 {"x":7} finished 7)");
    CHECK(result.trials[0].restarts == 2);
    CHECK(result.trials[0].time == 2);
    const std::string line = R"({"group":"validation","steps_completed":)", end = R"(,"metrics":{"loss":7}})";
    CHECK(text_in(config.storage + "/trial_1/metrics.jsonl") ==
          line + "0" + end + "\n" + line + "1" + end + "\n" + line + "2" + end + "\n");
    // c0 has the highest serial number.
    CHECK(text_in(config.storage + "/trial_1/log.txt") ==
          "  \"latest_checkpoint\": null,\n  \"latest_checkpoint\": \"c0\",\n  \"latest_checkpoint\": \"c0\",\n");
  }
  SECTION("and no more") {
    config.max_restarts = 1;
    CHECK(text_of(run_search(config, options_of(program))) == R"(1 {"x":7} failed 7)");
  }
}

TEST_CASE("a trial with invalid hyperparameters is replaced, and is not the best one", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearchConfig config = config_of(folder, {.name = "random", .max_trials = 2}, {1, 2});
  const SearchResult result = run_search(config, options_of(R"(
    if [ $x = 1 ]; then report 1; echo '{"status":"invalid_hp","message":"no"}' >> metrics.jsonl; exit 1; fi
    report 1)"));
  CHECK(result.done);
  int valid = 0;
  for (const TrialReport& each : result.trials) {
    CHECK(each.status == (each.hparams == R"({"x":1})" ? Status::invalid : Status::finished));
    valid += each.status == Status::finished;
  }
  CHECK(result.trials.size() > 2);
  CHECK(valid == 2);
  CHECK(result.trials[static_cast<std::size_t>(result.best) - 1].hparams == R"({"x":2})");
}

TEST_CASE("what a trial reports after it was stopped counts, also if its search was killed in between", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearcherOptions asha{.name = "asha", .max_time = 3, .max_trials = 3, .divisor = 3, .max_rungs = 2};
  const SearchConfig config = config_of(folder, asha, {1, 2, 3, 4, 5, 6, 7, 8});
  const char* program = "report 1; report 3; trap '' TERM; sleep 0.5";
  SearchRunOptions options = options_of(program);
  int stopping = 0;
  options.report = [&](const TrialReport& trial, const std::string& change) {
    if (change == "stopping") stopping = trial.trial;
  };
  options.wait = [&](double seconds) {
    ::usleep(static_cast<useconds_t>(1e6 * seconds));
    if (stopping > 0) throw Error(ErrorKind::state, "stop");
    return false;
  };
  CHECK(error_of([&] { run_search(config, options); }) == "stop");
  REQUIRE(stopping > 0);
  std::ofstream(config.storage + "/trial_" + std::to_string(stopping) + "/metrics.jsonl", std::ios::app)
      << R"({"status":"invalid_hp","message":"no"})" << '\n';
  const SearchResult result = run_search(config, options_of(program));
  CHECK(result.done);
  CHECK(result.trials[static_cast<std::size_t>(stopping) - 1].status == Status::invalid);
}

TEST_CASE("an interrupted search asks its trials to save, and continues later", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearchConfig config = config_of(folder, {.name = "grid"}, {1, 2});
  const char* program = R"(
    if [ -e saved ]; then report 2; exit 0; fi
    trap 'touch saved; exit 143' TERM; report 1; while :; do sleep 0.01; done)";
  SearchRunOptions options = options_of(program);
  bool reported = false, interrupted = false;
  options.report = [&](const TrialReport&, const std::string& change) { reported = reported || change == "validated"; };
  options.wait = [&](double seconds) {
    ::usleep(static_cast<useconds_t>(1e6 * seconds));
    return reported && !std::exchange(interrupted, reported);
  };
  const SearchResult first = run_search(config, options);
  CHECK(!first.done);
  CHECK(text_of(first) == R"(1 {"x":1} waiting 1, 2 {"x":2} waiting)");
  // The second trial ends by a SIGTERM of others: it is resumed, and this is no restart.
  options = options_of(std::string("[ $x = 1 ] || [ -e saved ] || { touch saved; report 1; exit 143; }") + program);
  const SearchResult second = run_search(config, options);
  CHECK(second.done);
  CHECK(text_of(second) == R"(1 {"x":1} finished 1, 2 {"x":2} finished 2)");
  CHECK(second.trials[0].time == 2);
  CHECK(second.trials[1].restarts == 0);
}

TEST_CASE("a trial saves its state when its search is interrupted twice within a second, and later it is killed",
          "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearchConfig config = config_of(folder, {.name = "single"}, {1});
  SearchRunOptions options =
      options_of("trap 'sleep 0.1; echo saved; exit 143' TERM; report 1; while :; do sleep 0.01; done");
  const bool again = GENERATE(false, true);
  if (again) options = options_of("trap '' TERM; report 1; while :; do sleep 0.01; done");
  const std::string trial = config.storage + "/trial_1/";
  // From the first report on, every look interrupts the search, or two of them do.
  options.wait = [&, looks = 0](double seconds) mutable {
    ::usleep(static_cast<useconds_t>(1e6 * seconds));
    if (looks == 0 && text_in(trial + "metrics.jsonl").empty()) return false;
    return ++looks <= 2 || again;
  };
  options.grace = 60;
  const auto began = std::chrono::steady_clock::now();
  CHECK(!run_search(config, options).done);
  CHECK(text_in(trial + "log.txt") == (again ? "" : "saved\n"));
  if (again) CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(50));  // without its grace
}

TEST_CASE("what a trial has started and left is killed when the trial ends", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearchConfig config = config_of(folder, {.name = "single"}, {1});
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // so that this process can wait for what the trial has left
  CHECK(run_search(config, options_of("sleep 15 & echo $! > left; report 1; exit 0")).done);
  int status = 0;
  const pid_t left = std::stoi(text_in(config.storage + "/trial_1/left"));
  CHECK(::waitpid(left, &status, 0) == left);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGKILL);
}

TEST_CASE("a search that has ended is restored with the same trials, whatever they reported", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearcherOptions asha{.name = "asha", .max_time = 3, .max_trials = 3, .divisor = 3, .max_rungs = 2};
  const SearchConfig config = config_of(folder, asha, {1, 2, 3, 4, 5, 6, 7, 8});
  // A trial that is stopped after one step reports the third one, too.
  const char* program = R"(
    trap '' TERM; for progress in null -1 1e300; do echo "{\"progress\":$progress}" >> metrics.jsonl; done
    report 1; report 3)";
  const std::string ended = text_of(run_search(config, options_of(program)));
  CHECK_THAT(ended, ContainsSubstring("stopped"));
  const SearchResult restored = run_search(config, options_of(program));
  CHECK(restored.done);
  CHECK(text_of(restored) == ended);
  for (const TrialReport& each : restored.trials) CHECK(each.progress == 0);
}

TEST_CASE("a state of a search without a trial that can run is an error", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  const SearchConfig config = config_of(folder, {.name = "single"}, {1});
  SearchRunOptions options = options_of("report 1");
  options.report = [](const TrialReport&, const std::string& change) {
    if (change == "running") throw Error(ErrorKind::state, "stop");
  };
  CHECK(error_of([&] { run_search(config, options); }) == "stop");
  const std::string path = config.storage + "/search.json";
  std::string state = text_in(path);
  const std::string waiting = "\"status\":0", finished = "\"status\":3";
  REQUIRE(state.find(waiting) != std::string::npos);
  state.replace(state.find(waiting), waiting.size(), finished);
  std::ofstream(path) << state;
  CHECK_THAT(error_of([&] { run_search(config, options_of("report 1")); }),
             ContainsSubstring("search.json\" is damaged: no trial is left to run"));
}

TEST_CASE("a search that is killed at any change finishes with the same trials", "[search]") {
  const char* program = "report 1; report 3";
  const SearcherOptions asha{
      .name = "asha", .max_time = 3, .max_trials = 3, .max_concurrent_trials = 2, .divisor = 3, .max_rungs = 2};
  const auto config_in = [&](const ScratchFolder& folder) { return config_of(folder, asha, {1, 2, 3, 4, 5, 6, 7, 8}); };
  int changes = 0;
  std::string expected;
  {
    const ScratchFolder folder("search", ScratchFolder::memory);
    SearchRunOptions options = options_of(program);
    options.report = [&](const TrialReport&, const std::string&) { ++changes; };
    const SearchResult result = run_search(config_in(folder), options);
    REQUIRE(result.done);
    expected = text_of(result);
    CHECK_THAT(expected, ContainsSubstring("stopped"));
  }
  for (int killed_at = 1; killed_at <= changes; ++killed_at) {
    const ScratchFolder folder("search", ScratchFolder::memory);
    const SearchConfig config = config_in(folder);
    const pid_t process = ::fork();
    if (process == 0) {
      SearchRunOptions options = options_of(program);
      options.report = [seen = 0, killed_at](const TrialReport&, const std::string&) mutable {
        if (++seen == killed_at) ::raise(SIGKILL);
      };
      try {
        run_search(config, options);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(process, &status, 0) == process);
    INFO("killed at change " << killed_at << " of " << changes);
    // A trial may be stopped before it reports all, so that there are fewer changes.
    CHECK((WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0));
    const SearchResult result = run_search(config, options_of(program));
    CHECK(result.done);
    CHECK(text_of(result) == expected);
  }
}

TEST_CASE("a folder in use, another search, and a program that does not exist are refused", "[search]") {
  const ScratchFolder folder("search", ScratchFolder::memory);
  SearchConfig config = config_of(folder, {.name = "single"}, {1});
  SearchRunOptions options = options_of("report 1");
  std::string inner;
  options.report = [&](const TrialReport&, const std::string& change) {
    if (change == "running") inner = error_of([&] { run_search(config, options_of("report 1")); });
  };
  CHECK(run_search(config, options).done);
  CHECK_THAT(inner, ContainsSubstring("locked by another process"));
  config.seed = 2;
  CHECK_THAT(error_of([&] { run_search(config, options); }), ContainsSubstring("has another search"));
  config.storage += "/other";
  options.program = {folder.path() + "/no_program"};
  CHECK_THAT(error_of([&] { run_search(config, options); }), ContainsSubstring("no_program\" cannot be started"));
}

}  // namespace
}  // namespace etude::experiment
