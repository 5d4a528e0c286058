#include "etude/experiment/search/search_run.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/experiment/checkpoint_context.hpp"
#include "etude/experiment/preempt_context.hpp"
#include "etude/experiment/search/detail/metrics_file.hpp"
#include "etude/experiment/search/detail/trial_folder.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {

using Status = TrialReport::Status;

/// A trial and its state in the search.
struct SearchRun::Trial {
  TrialReport report;
  std::uint64_t read = 0;  ///< the bytes of metrics.jsonl that were read
  bool invalid = false;    ///< whether it reported invalid hyperparameters
  bool warned = false;     ///< whether a line without its metrics was reported
  bool reported = false;   ///< whether it has reported anything since its program was started
  bool runs = false;       ///< whether its program runs
};

namespace {

constexpr const char* where = "search";
constexpr int killed_exit_code = 137;
constexpr int version = 1;

Json json_of(std::optional<double> number) { return number && std::isfinite(*number) ? Json(*number) : Json(nullptr); }
std::optional<double> number_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

const SearchConfig& checked(const SearchConfig& config) {
  check_search_config(config);
  return config;
}

}  // namespace

SearchRun::SearchRun(SearchConfig config, std::shared_ptr<Vfs> files, ReportTrial report)
    : config_(std::move(config)),
      files_(vfs_or_host(files, where)),
      report_(std::move(report)),
      search_(checked(config_).searcher, config_.space, config_.seed) {
  files_->make_folders(config_.storage, true);
  lock_ = files_->lock(config_.storage + "/search.lock");
}
SearchRun::~SearchRun() = default;

// ---- The state in search.json ----

std::string SearchRun::state_path() const { return config_.storage + "/search.json"; }

/// The members that must be the same when a search is continued, as JSON.
std::string SearchRun::identity() const {
  SearchConfig config = config_;
  config.max_restarts = 0;
  config.storage.clear();
  config.retention.reset();
  return to_json(config);
}

void SearchRun::save() {
  if (!changed_) return;
  Json trials = Json::array();
  for (const auto& each : trials_) {
    const TrialReport& r = each->report;
    trials.push_back({{"status", static_cast<int>(r.status)},
                      {"restarts", r.restarts},
                      {"read", each->read},
                      {"invalid", each->invalid},
                      {"stopped", r.stopped},
                      {"progress", r.progress},
                      {"metric", json_of(r.metric)},
                      {"time", json_of(r.time)},
                      {"best", json_of(r.best)}});
  }
  const Json state{{"version", version},
                   {"config", parse_json(identity(), "config")},
                   {"search", parse_json(search_.snapshot(), state_path())},
                   {"trials", std::move(trials)}};
  files_->replace(state_path(), {json_text(state), "\n"});
  changed_ = false;
  if (done()) collect();
}

/// Applies the rules to the checkpoints of all trials.
void SearchRun::collect() {
  if (!config_.retention) return;
  RetentionRules rules = *config_.retention;
  rules.smaller_is_better = config_.searcher.smaller_is_better;
  std::vector<std::string> folders;
  for (const auto& each : trials_) folders.push_back(folder(each->report.trial) + "/checkpoints");
  collect_checkpoints(folders, rules, files_);
}

void SearchRun::begin() {
  if (files_->kind(state_path()) != PathKind::file) {
    carry_out(search_.start());
    save();
    return;
  }
  load();
  for (const auto& each : trials_) tell(*each, "restored");
  changed_ = true;  // a kill may have prevented what follows from the end
  // Their programs ended with the earlier run.
  for (std::size_t i = 0; i < trials_.size(); ++i) {
    Trial& each = *trials_[i];
    const bool open = each.report.status <= Status::stopping;
    each.runs = each.report.status == Status::running;  // one that is stopped ends after its last reports
    if (open) read(each);
    each.runs = false;
    if (each.report.status == Status::running) set(each, Status::waiting, "interrupted");
    if (each.report.status == Status::stopping || (open && each.invalid))
      end(each, each.invalid ? TrialEnd::invalid : TrialEnd::finished);
  }
  save();
  check(done() || !this->trials(Status::waiting).empty(), ErrorKind::data, where, '"', state_path(),
        "\" is damaged: no trial is left to run - expected the state of a search - remove the folder.");
}

namespace {

TrialReport report_in(const Json& json, int trial, std::string hparams, const std::string& path) {
  const int status = json.at("status").get<int>();
  check(status >= 0 && status <= static_cast<int>(Status::invalid), ErrorKind::data, where, '"', path,
        "\" is damaged: a status is ", status, " - expected the state of a search - remove the folder.");
  return {.trial = trial,
          .status = static_cast<Status>(status),
          .hparams = std::move(hparams),
          .restarts = json.at("restarts").get<int>(),
          .progress = json.at("progress").get<double>(),
          .metric = number_of(json.at("metric")),
          .time = number_of(json.at("time")),
          .best = number_of(json.at("best")),
          .stopped = json.at("stopped").get<bool>()};
}

}  // namespace

void SearchRun::load() {
  const std::string path = state_path();
  const std::vector<std::byte> bytes = files_->read(path);
  const Json state = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  try {
    check(state.at("version") == version && state.at("config") == parse_json(identity(), "config"), ErrorKind::value,
          where, '"', config_.storage,
          "\" has another search - expected one with the same config - choose another folder.");
    search_.restore(json_text(state.at("search")));
    check(state.at("trials").size() == static_cast<std::size_t>(search_.trials()), ErrorKind::data, where, '"', path,
          "\" is damaged - expected all trials - remove the folder.");
    for (const Json& each : state.at("trials")) {
      const int id = static_cast<int>(trials_.size()) + 1;
      trials_.push_back(std::make_unique<Trial>(Trial{.report = report_in(each, id, search_.creation(id).hparams, path),
                                                      .read = each.at("read").get<std::uint64_t>(),
                                                      .invalid = each.at("invalid").get<bool>()}));
    }
  } catch (const Json::exception& error) {
    fail(ErrorKind::data, where, '"', path, "\" is damaged: ", reason_of(error),
         " - expected the state of a search - remove the folder.");
  }
}

// ---- The trials ----

std::string SearchRun::folder(int trial) const { return trial_folder(config_.storage, trial); }

std::vector<int> SearchRun::trials(Status status) const {
  std::vector<int> found;
  for (const auto& each : trials_)
    if (each->report.status == status) found.push_back(each->report.trial);
  return found;
}

void SearchRun::tell(const Trial& trial, const std::string& change) const {
  if (report_) report_(trial.report, change);
}

void SearchRun::set(Trial& trial, Status status, const std::string& change) {
  trial.report.status = status;
  changed_ = true;
  tell(trial, change);
}

void SearchRun::carry_out(const SearchOperations& operations) {
  changed_ = changed_ || !operations.empty();
  for (const SearchOperation& each : operations) {
    if (each.kind == SearchOperation::Kind::create) {
      trials_.push_back(std::make_unique<Trial>(Trial{.report = {.trial = each.trial, .hparams = each.hparams}}));
      tell(*trials_.back(), "created");
    } else if (each.kind == SearchOperation::Kind::stop) {
      Trial& stopped = trial(each.trial);
      // Whether it has not reached its full length.
      stopped.report.stopped = stopped.report.time.value_or(0) < static_cast<double>(config_.searcher.max_time);
      if (stopped.runs)
        set(stopped, Status::stopping, "stopping");
      else
        end(stopped, TrialEnd::finished);
    }
  }
}

/// A trial ended and is not started again.
void SearchRun::end(Trial& trial, TrialEnd how) {
  if (how == TrialEnd::finished)
    set(trial, Status::finished, trial.report.stopped ? "stopped" : "finished");
  else
    set(trial, how == TrialEnd::failed ? Status::failed : Status::invalid,
        how == TrialEnd::failed ? "failed" : "invalid hyperparameters");
  carry_out(search_.exited(trial.report.trial, how));
}

std::string SearchRun::prepare(int id) {
  const Trial& prepared = trial(id);
  const std::string folder_of = folder(id);
  files_->make_folders(folder_of);
  truncate(*files_, folder_of + "/metrics.jsonl", prepared.read);
  return write_trial_file(*files_, folder_of, config_, search_.creation(id), prepared.report.restarts);
}

void SearchRun::started(int id) {
  Trial& started = trial(id);
  started.runs = true;
  started.reported = false;
  set(started, Status::running, "running");
}

void SearchRun::read(int id) { read(trial(id)); }

void SearchRun::read(Trial& trial) {
  const SearcherOptions& searcher = config_.searcher;
  for (const std::string& text : new_lines(*files_, folder(trial.report.trial) + "/metrics.jsonl", trial.read)) {
    changed_ = trial.reported = true;
    const MetricsLine line = parse_metrics_line(text, searcher.metric, searcher.time_metric);
    if (line.kind == MetricsLine::Kind::invalid) trial.invalid = true;
    if (line.kind == MetricsLine::Kind::progress && line.progress >= 0 && line.progress <= 1)
      trial.report.progress = line.progress;
    if (line.kind == MetricsLine::Kind::damaged) tell(trial, "warning: a line of metrics.jsonl is no JSON object");
    if (line.kind == MetricsLine::Kind::validation) validated(trial, line);
  }
}

void SearchRun::validated(Trial& trial, const MetricsLine& line) {
  const SearcherOptions& searcher = config_.searcher;
  const bool timed = searcher.name == "asha" || searcher.name == "adaptive_asha";
  if (!line.metric || (timed && !line.time)) {
    if (!trial.warned)
      tell(trial, "warning: a validation has no \"" + (line.metric ? searcher.time_metric : searcher.metric) + '"');
    trial.warned = true;
    return;
  }
  TrialReport& r = trial.report;
  r.metric = line.metric;
  r.time = line.time;
  if (std::isfinite(*line.metric) && (!r.best || better(*line.metric, *r.best))) r.best = line.metric;
  tell(trial, "validated");
  const bool is_open = r.status <= Status::stopping;
  if (is_open) carry_out(search_.validated(r.trial, *line.metric, line.time.value_or(0)));
}

void SearchRun::ended(int id, int status, bool interrupted) {
  Trial& ended = trial(id);
  ended.runs = false;
  TrialReport& r = ended.report;
  if (ended.invalid) return end(ended, TrialEnd::invalid);
  if (r.status == Status::stopping || status == 0) return end(ended, TrialEnd::finished);
  const bool saved = status == preempted_exit_code;
  if (interrupted && (saved || status == killed_exit_code)) return set(ended, Status::waiting, "interrupted");
  if (saved && ended.reported) return set(ended, Status::waiting, "preempted");
  const std::string text = "ended with status " + std::to_string(status);
  if (r.restarts >= config_.max_restarts) {
    tell(ended, text);
    return end(ended, TrialEnd::failed);
  }
  ++r.restarts;
  set(ended, Status::waiting,
      text + ": restart " + std::to_string(r.restarts) + " of " + std::to_string(config_.max_restarts));
}

SearchResult SearchRun::result() const {
  SearchResult result{.done = done(), .trials = {}, .best = 0};
  const TrialReport* best = nullptr;
  for (const auto& each : trials_) {
    const TrialReport& r = each->report;
    result.trials.push_back(r);
    if (r.best && r.status != Status::invalid && (!best || better(*r.best, *best->best))) best = &r;
  }
  if (best) result.best = best->trial;
  return result;
}

}  // namespace etude::experiment
