#include "etude/experiment/search/search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/random.hpp"
#include "etude/experiment/search/detail/brackets.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

constexpr const char* where = "search";
constexpr double worst = std::numeric_limits<double>::max();
constexpr int version = 1;

struct Trial {
  enum Status { running, finished, failed, invalid };
  int bracket = 0, rung = 0;  // the rung that it reaches next
  bool stopped = false, replaced = false;
  Status status = running;
};

Trial::Status status_of(TrialEnd end) {
  return end == TrialEnd::finished ? Trial::finished : end == TrialEnd::failed ? Trial::failed : Trial::invalid;
}

SearchOperation stop(int trial) { return {.kind = SearchOperation::Kind::stop, .trial = trial}; }

}  // namespace

struct HyperparameterSearch::State {
  SearcherOptions searcher;
  Hyperparameters space;
  std::uint64_t seed;
  std::vector<Bracket> brackets;
  std::vector<Trial> trials;

  Trial& trial(int id) {
    check(id >= 1 && static_cast<std::size_t>(id) <= trials.size(), ErrorKind::value, where, "there is no trial ", id,
          " - expected one of ", trials.size(), " - use the numbers of the operations.");
    return trials[static_cast<std::size_t>(id) - 1];
  }
  Bracket& bracket_of(const Trial& t) { return brackets[static_cast<std::size_t>(t.bracket)]; }

  SearchOperation creation(int id) const {
    const bool grid = searcher.name == "grid";
    // Hyperparameters use the places before this one.
    constexpr auto place = std::numeric_limits<std::uint32_t>::max();
    const auto bits =
        philox(seed, {place, static_cast<std::uint32_t>(id), 0, static_cast<std::uint32_t>(RandomStream::search)});
    return {.kind = SearchOperation::Kind::create,
            .trial = id,
            .trial_seed = bits[0] >> 1,
            .hparams = grid ? grid_point(space, id - 1) : sample_hyperparameters(space, seed, id)};
  }
  void create(int bracket, SearchOperations& operations) {
    trials.push_back({.bracket = bracket});
    operations.push_back(creation(static_cast<int>(trials.size())));
  }

  /// Creates a trial in place of one that was stopped or has ended, once, while the bracket has trials left.
  void replace(Trial& t, SearchOperations& operations) {
    if (t.replaced) return;
    const bool random = searcher.name != "single" && searcher.name != "grid";
    int created = 0, invalid = 0;
    for (const Trial& each : trials) {
      if (each.bracket != t.bracket) continue;
      ++created;
      invalid += random && each.status == Trial::invalid;
    }
    const int most = bracket_of(t).max_trials;
    // Limits replacements; otherwise invalid hyperparameters restart forever.
    if (created - std::min(invalid, most) >= most) return;
    t.replaced = true;
    create(t.bracket, operations);  // t is invalid from here on
  }

  /// Adds a metric to the rungs that the trial has reached. Returns whether to stop it.
  bool reach_rungs(int id, double metric, double time) {
    Trial& t = trial(id);
    const Bracket& bracket = bracket_of(t);
    const int rungs = static_cast<int>(bracket.rungs.size());
    while (t.rung < rungs) {
      Rung& rung = bracket_of(t).rungs[static_cast<std::size_t>(t.rung)];
      if (!(time >= static_cast<double>(rung.time))) return false;
      const std::int64_t better = rung.insert(id, metric);
      if (t.rung == rungs - 1) return true;
      const auto going_on = static_cast<std::int64_t>(static_cast<double>(rung.entries.size()) / searcher.divisor);
      if (better >= std::max<std::int64_t>(going_on, 1)) return true;
      ++t.rung;
    }
    return false;
  }
};

HyperparameterSearch::HyperparameterSearch(SearcherOptions searcher, Hyperparameters space, std::uint64_t seed) {
  check_searcher(searcher, space);
  std::vector<Bracket> brackets = make_brackets(searcher, space);
  state_ = std::make_unique<State>(State{std::move(searcher), std::move(space), seed, std::move(brackets), {}});
}
HyperparameterSearch::~HyperparameterSearch() = default;
HyperparameterSearch::HyperparameterSearch(HyperparameterSearch&&) noexcept = default;
HyperparameterSearch& HyperparameterSearch::operator=(HyperparameterSearch&&) noexcept = default;

SearchOperations HyperparameterSearch::start() {
  check(state_->trials.empty(), ErrorKind::state, where, "the search has started - expected one start - continue it.");
  SearchOperations operations;
  for (std::size_t i = 0; i < state_->brackets.size(); ++i)
    for (int trial = 0; trial < state_->brackets[i].initial_trials; ++trial)
      state_->create(static_cast<int>(i), operations);
  return operations;
}

SearchOperations HyperparameterSearch::validated(int trial, double metric, double time) {
  Trial& t = state_->trial(trial);
  if (t.stopped || t.status != Trial::running) return {};
  const double value = state_->searcher.smaller_is_better ? metric : -metric;
  if (!state_->reach_rungs(trial, std::isnan(value) ? worst : std::clamp(value, -worst, worst), time)) return {};
  SearchOperations operations{stop(trial)};
  t.stopped = true;
  state_->replace(t, operations);
  return operations;
}

SearchOperations HyperparameterSearch::exited(int trial, TrialEnd end) {
  Trial& t = state_->trial(trial);
  check(t.status == Trial::running, ErrorKind::value, where, "trial ", trial,
        " ended twice - expected one end - report it once.");
  t.status = status_of(end);
  std::vector<Rung>& rungs = state_->bracket_of(t).rungs;
  if (end == TrialEnd::invalid)
    for (Rung& rung : rungs) rung.remove(trial);
  else if (end == TrialEnd::failed && !t.stopped && !rungs.empty())
    rungs[static_cast<std::size_t>(t.rung)].insert(trial, worst);
  SearchOperations operations;
  state_->replace(t, operations);
  if (done()) operations.push_back({});
  return operations;
}

int HyperparameterSearch::trials() const { return static_cast<int>(state_->trials.size()); }

bool HyperparameterSearch::stopped(int trial) const { return state_->trial(trial).stopped; }

bool HyperparameterSearch::done() const {
  return !state_->trials.empty() &&
         std::ranges::none_of(state_->trials, [](const Trial& t) { return t.status == Trial::running; });
}

SearchOperation HyperparameterSearch::creation(int trial) const {
  state_->trial(trial);
  return state_->creation(trial);
}

// ---- Snapshots: {"version": 1, "trials": [[bracket, rung, stopped, replaced, status], ..], "brackets": [[[[trial,
// metric], ..], ..], ..]}, with the entries of each rung of each bracket ----

std::string HyperparameterSearch::snapshot() const {
  Json trials = Json::array(), brackets = Json::array();
  for (const Trial& t : state_->trials)
    trials.push_back(Json::array({t.bracket, t.rung, t.stopped, t.replaced, static_cast<int>(t.status)}));
  for (const Bracket& bracket : state_->brackets) {
    Json rungs = Json::array();
    for (const Rung& rung : bracket.rungs) {
      Json entries = Json::array();
      for (const auto& [trial, metric] : rung.entries) entries.push_back(Json::array({trial, metric}));
      rungs.push_back(std::move(entries));
    }
    brackets.push_back(std::move(rungs));
  }
  return json_text({{"version", version}, {"trials", std::move(trials)}, {"brackets", std::move(brackets)}});
}

namespace {

/// Reads a snapshot, which may be any JSON.
class Reader {
 public:
  static void expect(bool ok) {
    check(ok, ErrorKind::data, where,
          "the snapshot does not belong to this search - expected one of the same config - use another folder.");
  }
  /// A member of an object, a list of that size; of any size if `size` is negative.
  static const Json& list(const Json& json, std::ptrdiff_t size = -1) {
    expect(json.is_array() && (size < 0 || json.size() == static_cast<std::size_t>(size)));
    return json;
  }
  static const Json& list(const Json& object, const char* name) {
    expect(object.is_object() && object.contains(name));
    return list(object.at(name));
  }
  /// A whole number from `least` to `most`.
  static int number(const Json& json, int least, int most) {
    expect(json.is_number_integer() && json >= least && json <= most);
    return json.get<int>();
  }
  static bool boolean(const Json& json) {
    expect(json.is_boolean());
    return json.get<bool>();
  }
  static double metric(const Json& json) {
    expect(json.is_number());
    return json.get<double>();
  }
};

}  // namespace

void HyperparameterSearch::restore(std::string_view snapshot) {
  const Json json = parse_json(snapshot, "the snapshot of a search");
  std::vector<Bracket> brackets = make_brackets(state_->searcher, state_->space);
  const int count = static_cast<int>(brackets.size());
  std::vector<Trial> trials;
  const Json& given = Reader::list(json, "trials");
  Reader::expect(json.contains("version") && json.at("version") == version);
  for (const Json& each : given) {
    Reader::list(each, 5);
    const int bracket = Reader::number(each[0], 0, count - 1);
    const int rungs = static_cast<int>(brackets[static_cast<std::size_t>(bracket)].rungs.size());
    trials.push_back({.bracket = bracket,
                      .rung = Reader::number(each[1], 0, std::max(rungs - 1, 0)),
                      .stopped = Reader::boolean(each[2]),
                      .replaced = Reader::boolean(each[3]),
                      .status = static_cast<Trial::Status>(Reader::number(each[4], Trial::running, Trial::invalid))});
  }
  const Json& all_rungs = Reader::list(Reader::list(json, "brackets"), count);
  for (std::size_t b = 0; b < brackets.size(); ++b) {
    std::vector<Rung>& rungs = brackets[b].rungs;
    Reader::list(all_rungs[b], static_cast<std::ptrdiff_t>(rungs.size()));
    for (std::size_t r = 0; r < rungs.size(); ++r)
      for (const Json& entry : Reader::list(all_rungs[b][r])) {
        Reader::list(entry, 2);
        rungs[r].entries.push_back(
            {Reader::number(entry[0], 1, static_cast<int>(trials.size())), Reader::metric(entry[1])});
      }
  }
  state_->brackets = std::move(brackets);
  state_->trials = std::move(trials);
}

}  // namespace etude::experiment
