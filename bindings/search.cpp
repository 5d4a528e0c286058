/// Searches for hyperparameters. web/src/search.ts has the interface, and runs the trials.
#include "experiment.hpp"

namespace etude::js {
namespace {

using experiment::HyperparameterSearch, experiment::SearchOperation, experiment::SearchRun, experiment::TrialReport;
using SearchPtr = std::shared_ptr<HyperparameterSearch>;
using RunPtr = std::shared_ptr<SearchRun>;

constexpr std::array statuses{"waiting", "running", "stopping", "finished", "failed", "invalid"};

val object_of(const SearchOperation& operation) {
  constexpr std::array kinds{"create", "stop", "done"};
  val result = val::object();
  result.set("kind", std::string(kinds[static_cast<std::size_t>(operation.kind)]));
  if (operation.kind == SearchOperation::Kind::done) return result;
  result.set("trial", operation.trial);
  if (operation.kind == SearchOperation::Kind::stop) return result;
  result.set("trialSeed", operation.trial_seed);
  result.set("hparams", parsed(operation.hparams));
  return result;
}
val list_of(const experiment::SearchOperations& operations) {
  val result = val::array();
  for (const SearchOperation& each : operations) result.call<void>("push", object_of(each));
  return result;
}

val object_of(const TrialReport& report) {
  val result = val::object();
  result.set("trial", report.trial);
  result.set("status", std::string(statuses[static_cast<std::size_t>(report.status)]));
  result.set("hparams", parsed(report.hparams));
  result.set("restarts", report.restarts);
  result.set("progress", report.progress);
  result.set("metric", to_js(report.metric));
  result.set("time", to_js(report.time));
  result.set("best", to_js(report.best));
  result.set("stopped", report.stopped);
  return result;
}

val object_of(const experiment::SearchResult& search) {
  val trials = val::array(), result = val::object();
  for (const TrialReport& each : search.trials) trials.call<void>("push", object_of(each));
  result.set("done", search.done);
  result.set("trials", trials);
  result.set("best", search.best);
  return result;
}

/// The number of a name in a list; an error if it is not there.
template <class Enum, std::size_t N>
Enum choice_of(const std::string& name, const std::array<const char*, N>& names, const char* what) {
  const auto found = std::ranges::find(names, name);
  std::string known;
  for (const char* each : names) known += std::string(known.empty() ? "\"" : ", \"") + each + '"';
  check(found != names.end(), ErrorKind::value, "search", what, " = \"", name, "\" - expected one of ", known,
        " - choose one of them.");
  return static_cast<Enum>(found - names.begin());
}

/// An object of one of these classes.
template <class T> struct HeldConversion {
  static std::shared_ptr<T> from(const val& value, const Where& where) {
    if (!is_of_class(value, class_name<T>())) where.wrong_class(value, class_name<T>());
    return value.as<std::shared_ptr<T>>();
  }
  static val to(const std::shared_ptr<T>& object) { return val(object); }
  static std::string given() { return class_name<T>(); }
  static std::string made() { return class_name<T>(); }
};

}  // namespace

template <> struct Conversion<SearchPtr> : HeldConversion<HyperparameterSearch> {};
template <> struct Conversion<RunPtr> : HeldConversion<SearchRun> {};

namespace {

/// The decisions alone.
void register_decisions() {
  held<HyperparameterSearch>();
  bind<"search.create(config)", [](std::string config) {
    experiment::SearchConfig read = experiment::search_config_from_json(config);
    return std::make_shared<HyperparameterSearch>(read.searcher, read.space, read.seed);
  }>();
  bind<"search.start(search)", [](SearchPtr search) { return list_of(search->start()); }>();
  bind<"search.validated(search, trial, metric, time)", [](SearchPtr search, int trial, val metric, double time) {
    return list_of(search->validated(trial, metric.isNumber() ? metric.as<double>() : NAN, time));
  }>();
  bind<"search.exited(search, trial, end)", [](SearchPtr search, int trial, std::string end) {
    constexpr std::array ends{"finished", "failed", "invalid"};
    return list_of(search->exited(trial, choice_of<experiment::TrialEnd>(end, ends, "end")));
  }>();
  bind<"search.trials(search)", [](SearchPtr search) { return search->trials(); }>();
  bind<"search.stopped(search, trial)", [](SearchPtr search, int trial) { return search->stopped(trial); }>();
  bind<"search.done(search)", [](SearchPtr search) { return search->done(); }>();
  bind<"search.creation(search, trial)",
       [](SearchPtr search, int trial) { return object_of(search->creation(trial)); }>();
  bind<"search.snapshot(search)", [](SearchPtr search) { return search->snapshot(); }>();
  bind<"search.restore(search, snapshot)", [](SearchPtr search, std::string snapshot) { search->restore(snapshot); }>();
}

}  // namespace

void register_searches() {
  register_decisions();
  held<SearchRun>();
  bind<"search_run.create(config, report)", [](std::string config, val report) {
    return std::make_shared<SearchRun>(
        experiment::search_config_from_json(config), nullptr,
        [report](const TrialReport& trial, const std::string& change) { call(report, object_of(trial), change); });
  }>();
  bind<"search_run.begin(run)", [](RunPtr run) { run->begin(); }>();
  bind<"search_run.done(run)", [](RunPtr run) { return run->done(); }>();
  bind<"search_run.trials(run, status)", [](RunPtr run, std::string status) {
    std::vector<double> trials;
    for (const int each : run->trials(choice_of<TrialReport::Status>(status, statuses, "status")))
      trials.push_back(each);
    return trials;
  }>();
  bind<"search_run.prepare(run, trial)", [](RunPtr run, int trial) { return run->prepare(trial); }>();
  bind<"search_run.started(run, trial)", [](RunPtr run, int trial) { run->started(trial); }>();
  bind<"search_run.read(run, trial)", [](RunPtr run, int trial) { run->read(trial); }>();
  bind<"search_run.ended(run, trial, status, interrupted)",
       [](RunPtr run, int trial, int status, bool interrupted) { run->ended(trial, status, interrupted); }>();
  bind<"search_run.save(run)", [](RunPtr run) { run->save(); }>();
  bind<"search_run.result(run)", [](RunPtr run) { return object_of(run->result()); }>();
  bind<"search_run.close(run)", [](RunPtr run) { run->close(); }>();
  bind<"search_run.folder(run, trial)", [](RunPtr run, int trial) { return run->folder(trial); }>();
}

namespace {

void register_all() {
  register_trials();
  register_searches();
}

}  // namespace

#ifdef ETUDE_DECLARATIONS
EMSCRIPTEN_BINDINGS(experiment) { register_all(); }
#else
EMSCRIPTEN_BINDINGS(experiment) {
  if (in_worker()) return;
  bind<"experiment.load()", register_all>();
}
#endif

}  // namespace etude::js
