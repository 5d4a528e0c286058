#include "etude/experiment/search/run_search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <deque>
#include <thread>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/json.hpp"
#include "search/metrics_file.hpp"
#include "search/trial_folder.hpp"
#include "search/trial_process.hpp"

namespace etude::experiment {
namespace {

using std::chrono::steady_clock;
using Status = TrialReport::Status;

constexpr const char* where = "search";
constexpr int preempted = 128 + SIGTERM, killed = 128 + SIGKILL;
constexpr int version = 1;

/// A trial with what the runner knows of it.
struct Trial {
  TrialReport report;
  std::uint64_t read = 0;  ///< the bytes of metrics.jsonl that were read
  bool invalid = false;    ///< whether it reported invalid hyperparameters
  bool warned = false;     ///< whether a line without its metrics was reported
  bool reported = false;   ///< whether it has reported anything since its process was started
  std::unique_ptr<TrialProcess> process = {};
  /// When the process was asked to end, and is killed.
  std::optional<steady_clock::time_point> kill_at = {};
};

Json json_of(std::optional<double> number) { return number && std::isfinite(*number) ? Json(*number) : Json(nullptr); }
std::optional<double> number_of(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

class Runner {
 public:
  Runner(const SearchConfig& config, const SearchRunOptions& options)
      : config_(config),
        options_(options),
        files_(vfs_or_host(options.files, where)),
        search_(config.searcher, config.space, config.seed) {
    check(!options.program.empty(), ErrorKind::value, where,
          "there is no program - expected one with its arguments - name it.");
    const int threads = static_cast<int>(std::thread::hardware_concurrency());
    const int most = config.searcher.max_concurrent_trials;
    processes_ = options.processes > 0 ? options.processes : most > 0 ? most : std::max(threads, 1);
  }

  SearchResult run() {
    files_->make_folders(config_.storage, true);
    const auto lock = files_->lock(config_.storage + "/search.lock");
    load();
    while (!search_.done() && !(interrupted_ && !any_process())) {
      if (!interrupted_) start_waiting();
      check(any_process(), ErrorKind::data, where, '"', state_path(),
            "\" is damaged: no trial is left to run - expected the state of a search - remove the folder.");
      if (wait()) interrupt();
      poll();
    }
    return {search_.done(), reports(), best()};
  }

 private:
  // ---- the state in search.json ----

  std::string state_path() const { return config_.storage + "/search.json"; }
  /// What must be the same when a search is continued.
  Json identity() const {
    SearchConfig config = config_;
    config.max_restarts = 0;
    config.storage.clear();
    return parse_json(to_json(config), "config");
  }

  void save() {
    Json trials = Json::array();
    for (const Trial& each : trials_) {
      const TrialReport& r = each.report;
      trials.push_back({{"status", static_cast<int>(r.status)},
                        {"restarts", r.restarts},
                        {"read", each.read},
                        {"invalid", each.invalid},
                        {"stopped", r.stopped},
                        {"progress", r.progress},
                        {"metric", json_of(r.metric)},
                        {"time", json_of(r.time)},
                        {"best", json_of(r.best)}});
    }
    const Json state{{"version", version},
                     {"config", identity()},
                     {"search", parse_json(search_.snapshot(), state_path())},
                     {"trials", std::move(trials)}};
    files_->replace(state_path(), {json_text(state), "\n"});
    changed_ = false;
  }

  /// Begins the search, or continues the one in the folder.
  void load() {
    if (files_->kind(state_path()) != PathKind::file) {
      carry_out(search_.start());
      save();
      return;
    }
    const std::vector<std::byte> bytes = files_->read(state_path());
    const Json state = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, state_path());
    try {
      check(state.at("version") == version && state.at("config") == identity(), ErrorKind::value, where, '"',
            config_.storage, "\" has another search - expected one with the same config - choose another folder.");
      search_.restore(json_text(state.at("search")));
      check(state.at("trials").size() == static_cast<std::size_t>(search_.trials()), ErrorKind::data, where, '"',
            state_path(), "\" is damaged - expected all trials - remove the folder.");
      for (const Json& each : state.at("trials")) trials_.push_back(restored(each));
    } catch (const Json::exception& error) {
      fail(ErrorKind::data, where, '"', state_path(), "\" is damaged: ", reason_of(error),
           " - expected the state of a search - remove the folder.");
    }
    for (const Trial& each : trials_) tell(each, "restored");
    // Their processes were killed with the runner.
    for (std::size_t i = 0; i < trials_.size(); ++i) {
      Trial& trial = trials_[i];
      if (trial.report.status == Status::running) set(trial, Status::waiting, "interrupted");
      if (trial.report.status == Status::stopping) end(trial, TrialEnd::finished);
      if (trial.report.status == Status::waiting) read(trial);
    }
    if (changed_) save();
  }

  Trial restored(const Json& json) const {
    Trial trial;
    TrialReport& r = trial.report;
    r.trial = static_cast<int>(trials_.size()) + 1;
    const int status = json.at("status").get<int>();
    check(status >= 0 && status <= static_cast<int>(Status::invalid), ErrorKind::data, where, '"', state_path(),
          "\" is damaged: a status is ", status, " - expected the state of a search - remove the folder.");
    r.status = static_cast<Status>(status);
    r.hparams = search_.creation(r.trial).hparams;
    r.restarts = json.at("restarts").get<int>();
    r.progress = json.at("progress").get<double>();
    r.metric = number_of(json.at("metric"));
    r.time = number_of(json.at("time"));
    r.best = number_of(json.at("best"));
    r.stopped = json.at("stopped").get<bool>();
    trial.read = json.at("read").get<std::uint64_t>();
    trial.invalid = json.at("invalid").get<bool>();
    return trial;
  }

  // ---- the trials ----

  Trial& trial(int id) { return trials_[static_cast<std::size_t>(id) - 1]; }
  std::string folder_of(const Trial& trial) const { return trial_folder(config_.storage, trial.report.trial); }
  void tell(const Trial& trial, const std::string& change) const {
    if (options_.report) options_.report(trial.report, change);
  }
  void set(Trial& trial, Status status, const std::string& change) {
    trial.report.status = status;
    changed_ = true;
    tell(trial, change);
  }
  bool any_process() const {
    return std::ranges::any_of(trials_, [](const Trial& each) { return each.process != nullptr; });
  }

  void carry_out(const SearchOperations& operations) {
    changed_ = changed_ || !operations.empty();
    for (const SearchOperation& each : operations) {
      if (each.kind == SearchOperation::Kind::create) {
        trials_.push_back({.report = {.trial = each.trial, .hparams = each.hparams}});
        tell(trials_.back(), "created");
      } else if (each.kind == SearchOperation::Kind::stop) {
        Trial& stopped = trial(each.trial);
        stopped.report.stopped = is_early(stopped.report);
        if (stopped.process)
          set(stopped, Status::stopping, "stopping");
        else
          end(stopped, TrialEnd::finished);
      }
    }
  }

  /// A trial ended and is not started again.
  void end(Trial& trial, TrialEnd how) {
    if (how == TrialEnd::finished)
      set(trial, Status::finished, trial.report.stopped ? "stopped" : "finished");
    else
      set(trial, how == TrialEnd::failed ? Status::failed : Status::invalid,
          how == TrialEnd::failed ? "failed" : "invalid hyperparameters");
    carry_out(search_.exited(trial.report.trial, how));
  }

  /// Reads what the trial has written since the last time.
  void read(Trial& trial) {
    const SearcherOptions& searcher = config_.searcher;
    for (const std::string& text : new_lines(*files_, folder_of(trial) + "/metrics.jsonl", trial.read)) {
      changed_ = trial.reported = true;
      const MetricsLine line = parse_metrics_line(text, searcher.metric, searcher.time_metric);
      if (line.kind == MetricsLine::Kind::invalid) trial.invalid = true;
      if (line.kind == MetricsLine::Kind::progress && line.progress >= 0 && line.progress <= 1)
        trial.report.progress = line.progress;
      if (line.kind == MetricsLine::Kind::damaged) tell(trial, "warning: a line of metrics.jsonl is no JSON object");
      if (line.kind == MetricsLine::Kind::validation) validated(trial, line);
    }
  }

  void validated(Trial& trial, const MetricsLine& line) {
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
    if (is_open(r.status)) carry_out(search_.validated(r.trial, *line.metric, line.time.value_or(0)));
  }
  /// Whether the trial has not reached its full length.
  bool is_early(const TrialReport& report) const {
    return report.time.value_or(0) < static_cast<double>(config_.searcher.max_time);
  }
  static bool is_open(Status status) { return status <= Status::stopping; }
  bool better(double a, double b) const { return config_.searcher.smaller_is_better ? a < b : a > b; }

  // ---- the processes ----

  void start_waiting() {
    int running = static_cast<int>(std::ranges::count_if(trials_, [](const Trial& each) { return !!each.process; }));
    for (Trial& each : trials_) {
      if (running >= processes_) break;
      if (each.report.status != Status::waiting) continue;
      start(each);
      ++running;
    }
    if (changed_) save();
  }

  void start(Trial& trial) {
    const std::string folder = folder_of(trial);
    files_->make_folders(folder);
    truncate(*files_, folder + "/metrics.jsonl", trial.read);
    const std::string path =
        write_trial_file(*files_, folder, config_, search_.creation(trial.report.trial), trial.report.restarts);
    trial.process = std::make_unique<TrialProcess>(options_.program, "ETUDE_TRIAL", path, folder + "/log.txt");
    trial.reported = false;
    trial.kill_at.reset();
    set(trial, Status::running, "running");
  }

  void poll() {
    for (std::size_t i = 0; i < trials_.size(); ++i) {  // the number of trials grows
      Trial& each = trials_[i];
      if (!each.process) continue;
      const std::optional<int> status = each.process->exit_status();
      read(each);  // after the end, so that all lines are read
      if (status) ended(each, *status);
    }
    if (changed_) save();
    const auto now = steady_clock::now();
    for (Trial& each : trials_) {
      if (!each.process) continue;
      if (each.report.status == Status::stopping && !each.kill_at) ask_to_end(each);
      if (each.kill_at && now >= *each.kill_at) each.process->kill();
    }
  }

  void ask_to_end(Trial& trial) const {
    trial.process->terminate();
    trial.kill_at = steady_clock::now() +
                    std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(options_.grace));
  }

  void ended(Trial& trial, int status) {
    trial.process.reset();
    TrialReport& r = trial.report;
    if (trial.invalid) return end(trial, TrialEnd::invalid);
    if (r.status == Status::stopping || status == 0) return end(trial, TrialEnd::finished);
    if (interrupted_ && (status == preempted || status == killed)) return set(trial, Status::waiting, "interrupted");
    if (status == preempted && trial.reported) return set(trial, Status::waiting, "preempted");
    const std::string text = "ended with status " + std::to_string(status);
    if (r.restarts >= config_.max_restarts) {
      tell(trial, text);
      return end(trial, TrialEnd::failed);
    }
    ++r.restarts;
    set(trial, Status::waiting,
        text + ": restart " + std::to_string(r.restarts) + " of " + std::to_string(config_.max_restarts));
  }

  /// Asks all trials to save their state and end; a second time, ends them.
  void interrupt() {
    for (Trial& each : trials_) {
      if (!each.process) continue;
      if (interrupted_)
        each.process->kill();
      else if (!each.kill_at)
        ask_to_end(each);
    }
    interrupted_ = true;
  }

  bool wait() const {
    if (options_.wait) return options_.wait(options_.interval);
    std::this_thread::sleep_for(std::chrono::duration<double>(options_.interval));
    return false;
  }

  // ---- the result ----

  std::vector<TrialReport> reports() const {
    std::vector<TrialReport> result;
    for (const Trial& each : trials_) result.push_back(each.report);
    return result;
  }
  int best() const {
    const TrialReport* found = nullptr;
    for (const Trial& each : trials_) {
      const TrialReport& r = each.report;
      if (r.best && r.status != Status::invalid && (!found || better(*r.best, *found->best))) found = &r;
    }
    return found ? found->trial : 0;
  }

  const SearchConfig& config_;
  const SearchRunOptions& options_;
  const std::shared_ptr<Vfs> files_;
  HyperparameterSearch search_;
  std::deque<Trial> trials_;  // keeps references valid when it grows
  int processes_ = 1;
  bool changed_ = false, interrupted_ = false;
};

}  // namespace

SearchResult run_search(const SearchConfig& config, const SearchRunOptions& options) {
  check_search_config(config);
  return Runner(config, options).run();
}

}  // namespace etude::experiment
