#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <set>

#include "etude/experiment/search/detail/brackets.hpp"
#include "etude/experiment/search/search.hpp"
#include "etude/saving/detail/json.hpp"
#include "support.hpp"

// Searches for hyperparameters: the space, the searchers, and their snapshots. Numbers of Determined are from
// master/pkg/searcher of determined-ai/determined: asha_stopping_test.go (commit 0f05ce99), adaptive_asha_test.go
// (commit 115a4e03) and grid_test.go (commit b098f22d).
namespace etude::experiment {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::error_of;
using Kind = SearchOperation::Kind;
namespace hp = hyperparameters;

const Hyperparameters one_value{{"x", hp::integer(0, 10)}};

/// "create 1, stop 2, done".
std::string text_of(const SearchOperations& operations) {
  std::string text;
  for (const SearchOperation& each : operations) {
    if (!text.empty()) text += ", ";
    text += each.kind == Kind::create ? "create " : each.kind == Kind::stop ? "stop " : "done";
    if (each.kind != Kind::done) text += std::to_string(each.trial);
  }
  return text;
}

SearcherOptions asha(int max_trials, std::int64_t max_time, int max_rungs, int concurrent) {
  return {.name = "asha",
          .metric = "loss",
          .max_time = max_time,
          .max_trials = max_trials,
          .max_concurrent_trials = concurrent,
          .divisor = 3,
          .max_rungs = max_rungs};
}

// ---- the space ----

/// The rules of sample_hyperparameters, computed by Python 3.13 with a Philox of its own, which gives Random123's known
/// answer for the key 0 and the counter 0.
TEST_CASE("the same seed gives the same trials on all targets", "[search]") {
  const Hyperparameters space{
      {"units", hp::integer(16, 64)},
      {"rate", hp::log(-4, -1)},
      {"drop", hp::real(0, 0.5)},
      {"activation", hp::categorical({"relu", "tanh", "gelu"})},
      {"epochs", hp::constant(5)},
      {"optimizer",
       hp::nested({{"kind", hp::categorical({"sgd", HyperparameterValue::of_json(R"(["adam", true])")})}})}};
  HyperparameterSearch search({.name = "random", .metric = "loss", .max_trials = 3}, space, 7);
  const SearchOperations operations = search.start();
  REQUIRE(operations.size() == 3);
  CHECK(operations[0].hparams ==
        R"({"units":43,"rate":0.00014120530705,"drop":0.27223989889802713,"activation":"tanh",)"
        R"("epochs":5,"optimizer":{"kind":"sgd"}})");
  CHECK(operations[1].hparams ==
        R"({"units":29,"rate":0.00100010525083,"drop":0.17138438952818463,"activation":"gelu",)"
        R"("epochs":5,"optimizer":{"kind":["adam",true]}})");
  CHECK(operations[2].hparams == R"({"units":58,"rate":0.0333600446191,"drop":0.33642303848459953,"activation":"relu",)"
                                 R"("epochs":5,"optimizer":{"kind":"sgd"}})");
  CHECK(operations[0].trial_seed == 1353863407);
  CHECK(operations[1].trial_seed == 701156384);
  CHECK(search.creation(3) == operations[2]);
}

TEST_CASE("draws are within their ranges, with both ends, and do not change when others are added", "[search]") {
  Hyperparameters space{{"die", hp::integer(-1, 4)}, {"rate", hp::log(0, 3, 2)}};
  const std::string first = sample_hyperparameters(space, 1, 1);
  std::set<int> drawn;
  for (int trial = 1; trial <= 200; ++trial) {
    const Json json = parse_json(sample_hyperparameters(space, 1, trial), "trial");
    drawn.insert(json.at("die").get<int>());
    const double rate = json.at("rate").get<double>();
    CHECK((rate >= 1 && rate <= 8));
  }
  CHECK(drawn == std::set<int>{-1, 0, 1, 2, 3, 4});
  space.push_back({"more", hp::real(0, 1)});
  CHECK(sample_hyperparameters(space, 1, 1).starts_with(first.substr(0, first.size() - 1)));
}

std::vector<std::string> grid_of(const Hyperparameters& space) {
  std::vector<std::string> points;
  HyperparameterSearch search({.name = "grid", .metric = "loss"}, space, 0);
  for (const SearchOperation& each : search.start()) points.push_back(each.hparams);
  return points;
}

TEST_CASE("a grid is the product of all counts, the last hyperparameter first", "[search]") {
  CHECK(grid_of({{"1", hp::integer(0, 20, 3)}, {"2", hp::integer(0, 10, 3)}}) ==
        std::vector<std::string>{R"({"1":0,"2":0})", R"({"1":0,"2":5})", R"({"1":0,"2":10})", R"({"1":10,"2":0})",
                                 R"({"1":10,"2":5})", R"({"1":10,"2":10})", R"({"1":20,"2":0})", R"({"1":20,"2":5})",
                                 R"({"1":20,"2":10})"});
  CHECK(grid_of({{"1", hp::integer(-4, -2, 3)}}) ==
        std::vector<std::string>{R"({"1":-4})", R"({"1":-3})", R"({"1":-2})"});
  CHECK(grid_of({{"1", hp::integer(0, 2, 100)}}).size() == 3);
  CHECK(grid_of(
            {{"a", hp::log(-3, -1, 10, 3)}, {"b", hp::nested({{"c", hp::real(0, 1, 1)}, {"d", hp::constant("x")}})}}) ==
        std::vector<std::string>{R"({"a":0.001,"b":{"c":0.5,"d":"x"}})", R"({"a":0.01,"b":{"c":0.5,"d":"x"}})",
                                 R"({"a":0.1,"b":{"c":0.5,"d":"x"}})"});
  CHECK(grid_of({{"a", hp::log(-10, 10, 2, 3)}}) ==
        std::vector<std::string>{R"({"a":0.0009765625})", R"({"a":1.0})", R"({"a":1024.0})"});
}

TEST_CASE("a config is read and written with all members", "[search]") {
  const SearchConfig config = search_config_from_json(R"({
    "name": "ring", "max_restarts": 2, "storage": "folder", "seed": 18446744073709551615,
    "searcher": {"name": "adaptive_asha", "metric": "accuracy", "smaller_is_better": false, "time_metric": "epochs",
                 "max_time": 27, "max_trials": 9, "max_concurrent_trials": 4, "divisor": 3, "max_rungs": 4,
                 "mode": "aggressive"},
    "hyperparameters": {"units": {"type": "int", "minval": 8, "maxval": 64, "count": 2}, "layers": [32, 16],
      "rate": {"type": "log", "minval": -5, "maxval": -1, "base": 2}, "size": {"type": "const", "val": {"type": 1}},
      "inner": {"drop": {"type": "double", "minval": 0, "maxval": 0.5}, "type": {"type": "categorical", "vals": [1, "b"]}}}})");
  CHECK(config.seed == 18446744073709551615U);
  CHECK(config.searcher.mode == "aggressive");
  CHECK(config.searcher.max_time == 27);
  CHECK(!config.searcher.smaller_is_better);
  REQUIRE(config.space.size() == 5);
  CHECK(config.space[0].values.count == 2);
  CHECK(config.space[1].values.values.at(0).json() == "[32,16]");
  CHECK(config.space[2].values.base == 2);
  CHECK(config.space[3].values.values.at(0).json() == R"({"type":1})");
  CHECK(config.space[4].values.members.size() == 2);
  const std::string text = to_json(config);
  CHECK(to_json(search_config_from_json(text)) == text);
}

TEST_CASE("a wrong config names its member", "[search]") {
  const auto error = [](const std::string& searcher, const std::string& space) {
    return error_of(
        [&] { search_config_from_json(R"({"searcher": )" + searcher + R"(, "hyperparameters": )" + space + "}"); });
  };
  const std::string grid = R"({"name": "grid", "metric": "loss"})";
  CHECK_THAT(error(R"({"name": "random", "metric": "loss"})", "{}"), ContainsSubstring("\"max_trials\" is 0"));
  CHECK_THAT(error(R"({"name": "asha", "metric": "loss", "max_trials": 4})", "{}"),
             ContainsSubstring("\"max_time\" is 0"));
  CHECK_THAT(error(R"({"name": "bayes", "metric": "loss"})", "{}"), ContainsSubstring("\"name\" is \"bayes\""));
  CHECK_THAT(error(R"({"name": "single"})", "{}"), ContainsSubstring("\"searcher\" has no \"metric\""));
  CHECK_THAT(error(R"({"name": "single", "metric": "loss", "max_tirals": 1})", "{}"), ContainsSubstring("max_tirals"));
  CHECK_THAT(error(R"({"name": "random", "metric": "loss", "max_trials": -1})", "{}"),
             ContainsSubstring("\"max_trials\" is -1 - expected a whole number"));
  CHECK_THAT(error(grid, R"({"a": {"b": {"type": "int", "minval": 2, "maxval": 1}}})"),
             ContainsSubstring("hyperparameter \"a.b\" from 2 to 1"));
  CHECK_THAT(error(grid, R"({"a": {"type": "int", "minval": 0.5, "maxval": 1}})"), ContainsSubstring("whole numbers"));
  CHECK_THAT(error(grid, R"({"a": {"type": "int", "minval": 1}})"), ContainsSubstring("has no \"maxval\""));
  CHECK_THAT(error(grid, R"({"a": {"type": "double", "minval": 0, "maxval": 1}})"),
             ContainsSubstring("has no \"count\""));
  CHECK_THAT(error(grid, R"({"a": {"type": "log", "minval": 0, "maxval": 400}})"), ContainsSubstring("are exponents"));
  CHECK_THAT(error(grid, R"({"a": {"type": "categorical", "vals": []}})"), ContainsSubstring("has no values"));
  CHECK_THAT(error(grid, R"({"a": {"type": "const", "val": 1, "vals": 2}})"), ContainsSubstring("has \"vals\""));
  CHECK_THAT(error(grid, R"({"a": {"type": "float"}})"), ContainsSubstring("has the type \"float\""));
  CHECK_THAT(error(grid, R"({"a": {"type": "double", "minval": 0, "maxval": 1, "count": 2000},
                             "b": {"type": "double", "minval": 0, "maxval": 1, "count": 2000}})"),
             ContainsSubstring("more than 1000000 points"));
  CHECK_THAT(error_of([] {
               search_config_from_json(
                   R"({"name": "a b", "searcher": {"name": "single", "metric": "loss"}, "hyperparameters": {}})");
             }),
             ContainsSubstring("name = \"a b\""));
}

// ---- rungs and brackets ----

std::vector<std::int64_t> times_of(const std::vector<Rung>& rungs) {
  std::vector<std::int64_t> times;
  for (const Rung& rung : rungs) times.push_back(rung.time);
  return times;
}

TEST_CASE("rungs and brackets are those of Determined", "[search]") {
  using Times = std::vector<std::int64_t>;
  CHECK(times_of(make_rungs(3, 3, 9)) == Times{1, 3, 9});
  CHECK(times_of(make_rungs(4, 2, 10)) == Times{1, 2, 5, 10});
  CHECK(times_of(make_rungs(1, 3, 9)) == Times{9});
  CHECK(times_of(make_rungs(3, 3, 900)) == Times{100, 300, 900});

  using Numbers = std::vector<int>;
  CHECK(bracket_trials(20, 3, {3, 2, 1}) == Numbers{12, 5, 3});
  CHECK(bracket_trials(50, 3, {4, 3}) == Numbers{35, 15});
  CHECK(bracket_trials(50, 4, {3, 2}) == Numbers{37, 13});
  CHECK(bracket_trials(100, 4, {4, 3, 2}) == Numbers{70, 22, 8});
  CHECK(bracket_concurrency(0, 3, {9, 3, 1}) == Numbers{3, 3, 3});
  CHECK(bracket_concurrency(11, 3, {9, 3, 1}) == Numbers{4, 4, 3});
  CHECK(bracket_concurrency(0, 4, {40, 10}) == Numbers{10, 10});

  // By its formulas: 16 trials and 64 steps allow 3 rungs with the divisor 4.
  SearcherOptions options{.name = "adaptive_asha", .metric = "loss", .max_time = 64, .max_trials = 16};
  const auto rungs_of = [&](const std::string& mode) {
    options.mode = mode;
    std::vector<std::size_t> sizes;
    for (const Bracket& bracket : make_brackets(options, {})) sizes.push_back(bracket.rungs.size());
    return sizes;
  };
  CHECK(rungs_of("conservative") == std::vector<std::size_t>{3, 2, 1});
  CHECK(rungs_of("standard") == std::vector<std::size_t>{3, 2});
  CHECK(rungs_of("aggressive") == std::vector<std::size_t>{3});
}

TEST_CASE("a rung sorts its metrics, and counts the better ones", "[search]") {
  const auto inserted = [](std::vector<double> known, double metric) {
    Rung rung;
    for (const double each : known) rung.entries.push_back({1, each});
    std::vector<double> result{static_cast<double>(rung.insert(2, metric))};
    for (const auto& entry : rung.entries) result.push_back(entry.metric);
    return result;
  };
  using Metrics = std::vector<double>;
  CHECK(inserted({0, 1.5, 2.1}, 1.2) == Metrics{1, 0, 1.2, 1.5, 2.1});
  CHECK(inserted({0, 1.5, 2}, 3) == Metrics{3, 0, 1.5, 2, 3});
  CHECK(inserted({-3, -2, -1}, -3.4) == Metrics{0, -3.4, -3, -2, -1});
  CHECK(inserted({}, 1.2) == Metrics{0, 1.2});
}

// ---- searchers ----

TEST_CASE("a recorded run of ASHA: each trial is worse than the one before", "[search]") {
  HyperparameterSearch search(asha(10, 900, 3, 3), one_value, 0);
  CHECK(text_of(search.start()) == "create 1, create 2, create 3");
  double loss = 1;
  CHECK(text_of(search.validated(1, loss += 1, 100)) == "");
  for (int trial = 2; trial <= 8; ++trial)
    CHECK(text_of(search.validated(trial, loss += 1, 100)) ==
          "stop " + std::to_string(trial) + ", create " + std::to_string(trial + 2));
  CHECK(text_of(search.validated(9, loss += 1, 100)) == "stop 9");
  CHECK(text_of(search.validated(10, loss += 1, 100)) == "stop 10");
  CHECK(text_of(search.validated(1, loss, 300)) == "");
  CHECK(text_of(search.validated(1, loss, 900)) == "stop 1");
}

TEST_CASE("a trial continues if it is the best one, or among the best 1 / divisor", "[search]") {
  HyperparameterSearch search(asha(6, 9, 3, 6), one_value, 0);
  search.start();
  CHECK(text_of(search.validated(1, 0.5, 1)) == "");  // the first
  CHECK(text_of(search.validated(2, 0.4, 1)) == "");  // better than the first
  CHECK(text_of(search.validated(3, 0.6, 1)) == "stop 3");
  CHECK(text_of(search.validated(4, 0.45, 1)) == "stop 4");  // second of 4; 1 goes on
  CHECK(text_of(search.validated(5, 0.9, 1)) == "stop 5");
  CHECK(text_of(search.validated(6, 0.41, 1)) == "");  // second of 6; 2 go on
  CHECK(text_of(search.validated(2, 0.8, 2)) == "");   // rung 1 is reached at 3
  CHECK(text_of(search.validated(2, 0.8, 3)) == "");
  CHECK(text_of(search.validated(6, 0.7, 9)) == "stop 6");  // two rungs at once, the second one the last
  CHECK(text_of(search.validated(3, 0.1, 9)) == "");        // it was stopped
  CHECK(text_of(search.validated(1, NAN, 9)) == "stop 1");  // the worst at rung 1
}

/// Trials that train to the given times and report one metric at each; `0` times: it fails.
struct Recorded {
  double metric;
  std::vector<double> times;
};

/// Runs trials in turns until each is stopped, and compares what they were allowed to do.
void replay(bool smaller_is_better, const std::vector<Recorded>& trials) {
  HyperparameterSearch search({.name = "adaptive_asha",
                               .metric = "error",
                               .smaller_is_better = smaller_is_better,
                               .max_time = 900,
                               .max_trials = 5,
                               .max_concurrent_trials = 5,
                               .divisor = 3,
                               .max_rungs = 2},
                              one_value, 0);
  CHECK(text_of(search.start()) == "create 1, create 2, create 3, create 4, create 5");
  for (std::size_t round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const auto& [metric, times] = trials[i];
      const int id = static_cast<int>(i) + 1;
      INFO("trial " << id << ", round " << round);
      if (times.empty() && round == 0) CHECK(text_of(search.exited(id, TrialEnd::failed)) == "");
      if (round >= times.size()) continue;
      const bool last = round + 1 == times.size();
      CHECK(text_of(search.validated(id, metric, times[round])) == (last ? "stop " + std::to_string(id) : ""));
    }
}

TEST_CASE("recorded runs of adaptive ASHA", "[search]") {
  SECTION("smaller is better") {
    replay(true, {{0.1, {300, 900}}, {0.2, {300}}, {0.3, {300}}, {0.4, {900}}, {0.5, {900}}});
  }
  SECTION("early exit, smaller is better") {
    replay(true, {{0.1, {300, 900}}, {0.2, {}}, {0.3, {300}}, {0.4, {900}}, {0.5, {900}}});
  }
  SECTION("larger is better") {
    replay(false, {{0.1, {300, 900}}, {0.2, {300, 900}}, {0.3, {300, 900}}, {0.4, {900}}, {0.5, {900}}});
  }
  SECTION("early exit, larger is better") {
    replay(false, {{0.1, {300, 900}}, {0.2, {}}, {0.3, {300, 900}}, {0.4, {900}}, {0.5, {900}}});
  }
}

TEST_CASE("an invalid trial does not count, and its metrics are removed", "[search]") {
  HyperparameterSearch search(asha(3, 9, 2, 2), one_value, 0);
  search.start();
  CHECK(text_of(search.validated(1, 0.1, 3)) == "");
  CHECK(text_of(search.exited(1, TrialEnd::invalid)) == "create 3");
  CHECK(text_of(search.validated(2, 0.9, 3)) == "");  // the best of those that are left
  CHECK(text_of(search.exited(2, TrialEnd::finished)) == "create 4");
  CHECK(text_of(search.validated(3, 0.95, 3)) == "stop 3");  // three valid ones were created: 2, 3 and 4
  CHECK(text_of(search.exited(3, TrialEnd::finished)) == "");
  CHECK(text_of(search.exited(4, TrialEnd::failed)) == "done");
}

TEST_CASE("invalid trials are replaced as often as there are trials", "[search]") {
  for (const char* name : {"random", "asha"}) {
    SearcherOptions options = asha(3, 9, 2, 2);
    options.name = name;
    HyperparameterSearch search(options, one_value, 0);
    search.start();
    for (int trial = 1; !search.done(); ++trial) search.exited(trial, TrialEnd::invalid);
    CHECK(search.trials() == 6);
  }
}

TEST_CASE("trials of a wrong number, or that ended twice, are refused", "[search]") {
  HyperparameterSearch search({.name = "single", .metric = "loss"}, one_value, 0);
  CHECK(text_of(search.start()) == "create 1");
  CHECK_THAT(error_of([&] { search.start(); }), ContainsSubstring("has started"));
  CHECK_THAT(error_of([&] { search.validated(2, 0, 1); }), ContainsSubstring("no trial 2"));
  CHECK(text_of(search.exited(1, TrialEnd::invalid)) == "done");
  CHECK_THAT(error_of([&] { search.exited(1, TrialEnd::failed); }), ContainsSubstring("ended twice"));
}

/// Runs a search whose trials do what draws say. Each operation is that of a search restored from a snapshot, too.
void simulate(const SearcherOptions& options, std::uint64_t seed, bool failures) {
  const Hyperparameters space{{"x", hp::real(0, 1, 9)}};
  Random random = testing::draws(seed);
  HyperparameterSearch search(options, space, seed);
  std::map<int, double> running;  // by trial: its time
  int started = 0, ended = 0, invalid = 0;
  bool done = false;
  const auto carry_out = [&](const SearchOperations& operations) {
    for (const SearchOperation& each : operations) {
      REQUIRE(!done);
      if (each.kind == Kind::create) {
        REQUIRE(each.trial == ++started);
        running[each.trial] = 0;
      } else if (each.kind == Kind::stop) {
        REQUIRE(search.stopped(each.trial));
      } else {
        done = true;
      }
    }
  };
  carry_out(search.start());
  while (!running.empty()) {
    HyperparameterSearch restored(options, space, seed);
    restored.restore(search.snapshot());
    const std::int64_t place = random.below(static_cast<std::uint32_t>(running.size()));
    const auto chosen = std::next(running.begin(), static_cast<std::ptrdiff_t>(place));
    const auto [trial, before] = *chosen;
    const bool ends = search.stopped(trial) || before >= 70 || random.below(40) == 0;
    SearchOperations operations, again;
    if (ends) {
      const std::uint32_t how = failures && !search.stopped(trial) ? random.below(4) : 0;
      const TrialEnd end = how == 1 ? TrialEnd::failed : how == 2 ? TrialEnd::invalid : TrialEnd::finished;
      invalid += end == TrialEnd::invalid;
      operations = search.exited(trial, end);
      again = restored.exited(trial, end);
      running.erase(trial);
      ++ended;
    } else {
      const double time = running[trial] += 1 + random.below(20);
      const double metric = random.below(50) == 0 ? NAN : random.normal();
      operations = search.validated(trial, metric, time);
      again = restored.validated(trial, metric, time);
    }
    REQUIRE(operations == again);
    REQUIRE(search.snapshot() == restored.snapshot());
    carry_out(operations);
  }
  CHECK(done);
  CHECK(search.done());
  CHECK(ended == started);
  const int expected = options.name == "single" ? 1 : options.name == "grid" ? 9 : options.max_trials;
  const bool replaces = options.name != "single" && options.name != "grid";
  CHECK(started == expected + (replaces ? std::min(invalid, expected) : 0));
}

TEST_CASE("every search creates its trials and ends, also when each event restores it", "[search]") {
  for (const char* name : {"single", "random", "grid", "asha", "adaptive_asha"})
    for (const bool failures : {false, true}) {
      INFO(name << (failures ? " with failures" : ""));
      SearcherOptions options{.name = name, .metric = "loss", .max_time = 64, .max_trials = 12};
      simulate(options, 1, failures);
      options.max_concurrent_trials = 3;
      options.mode = "conservative";
      options.smaller_is_better = false;
      simulate(options, 2, failures);
    }
}

TEST_CASE("a snapshot of another search is refused", "[search]") {
  HyperparameterSearch search(asha(3, 9, 2, 2), one_value, 0);
  search.start();
  const std::string snapshot = search.snapshot();
  HyperparameterSearch other(asha(3, 9, 3, 2), one_value, 0);
  CHECK_THAT(error_of([&] { other.restore(snapshot); }), ContainsSubstring("does not belong to this search"));
  for (const char* text : {"{}", "[]", R"({"trials": [], "brackets": [[[], []]]})",
                           R"({"version": 1, "trials": [[0, 2, false, false, 0]], "brackets": [[[], []]]})",
                           R"({"version": 1, "trials": [[0, 0, false, false, 0]], "brackets": [[[[2, 0.5]], []]]})"})
    CHECK_THAT(error_of([&] { search.restore(text); }), ContainsSubstring("does not belong to this search"));
  CHECK(search.snapshot() == snapshot);
}

}  // namespace
}  // namespace etude::experiment
