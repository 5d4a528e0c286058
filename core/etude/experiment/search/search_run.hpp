#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/vfs.hpp"
#include "etude/experiment/search/search.hpp"

namespace etude::experiment {

/// A trial of a search that runs.
struct TrialReport {
  /// waiting: to be started, or started again; stopping: it was asked to end; the last three: it has ended.
  enum class Status { waiting, running, stopping, finished, failed, invalid };
  /// The number of the trial, from 1 on.
  int trial = 0;
  /// Its state.
  Status status = Status::waiting;
  /// The hyperparameters, a JSON object.
  std::string hparams = {};
  /// How often it was started again after it had failed.
  int restarts = 0;
  /// Its part that is done, from 0 to 1, if it reports that.
  double progress = 0;
  /// The latest metric of a validation, how long the trial had trained then, and the best one; none yet.
  std::optional<double> metric = {}, time = {}, best = {};
  /// Whether the search stopped it before max_time.
  bool stopped = false;
};

/// Receives each change of a trial.
using ReportTrial = std::function<void(const TrialReport& trial, const std::string& change)>;

/// The end of a search.
struct SearchResult {
  /// Whether all trials have ended; false if the search was interrupted.
  bool done = false;
  /// All trials.
  std::vector<TrialReport> trials = {};
  /// The number of the trial with the best metric; 0 if there is none.
  int best = 0;
};

struct MetricsLine;

/// A search with its trials and their files, which does not run them: for run_search, and for hosts that run trials in
/// other ways. It creates, restarts and stops trials, by what they write to their folders and how they end.
///
///     SearchRun run(config, files, report);
///     run.begin();
///     while (!run.done()) … // start waiting trials, read what they report, tell which have ended, end stopping ones
///
/// run_search() documents the files. Call save() after each of those, before what follows from it is done.
class SearchRun {
 public:
  /// Locks the folder config.storage. Throws Error(state) if it is in use, Error(value) for an invalid config,
  /// Error(io).
  SearchRun(SearchConfig config, std::shared_ptr<Vfs> files, ReportTrial report);
  ~SearchRun();
  SearchRun(const SearchRun&) = delete;
  SearchRun& operator=(const SearchRun&) = delete;

  /// Begins the search, or continues the one in the folder. Throws Error(value) if that has another config, Error(data)
  /// if its state is damaged.
  void begin();
  /// Whether all trials have ended.
  bool done() const { return search_.done(); }
  /// The trials of that status, in their order.
  std::vector<int> trials(TrialReport::Status status) const;

  /// Prepares the folder of a waiting trial, and returns the path of its trial.json.
  std::string prepare(int trial);
  /// The program of a prepared trial runs.
  void started(int trial);
  /// Reads what a trial has reported since the last time.
  void read(int trial);
  /// The program of a trial ended, with a status as run_search() describes them. `interrupted`: because it was asked to
  /// end together with the search.
  void ended(int trial, int status, bool interrupted = false);
  /// Stores the state, if it has changed. If all trials have ended, removes the checkpoints that no rule keeps.
  void save();

  /// Releases the lock of the folder.
  void close() { lock_.reset(); }

  /// The trials so far.
  SearchResult result() const;
  /// The folder of a trial.
  std::string folder(int trial) const;

 private:
  struct Trial;

  std::string state_path() const;
  std::string identity() const;
  void load();
  void collect();
  Trial& trial(int id) { return *trials_[static_cast<std::size_t>(id) - 1]; }
  void tell(const Trial& trial, const std::string& change) const;
  void set(Trial& trial, TrialReport::Status status, const std::string& change);
  void carry_out(const SearchOperations& operations);
  void end(Trial& trial, TrialEnd how);
  void read(Trial& trial);
  void validated(Trial& trial, const MetricsLine& line);
  bool better(double a, double b) const { return config_.searcher.smaller_is_better ? a < b : a > b; }

  const SearchConfig config_;
  const std::shared_ptr<Vfs> files_;
  const ReportTrial report_;
  HyperparameterSearch search_;
  std::unique_ptr<FileLock> lock_;
  /// References stay valid when it grows.
  std::vector<std::unique_ptr<Trial>> trials_;
  bool changed_ = false;
};

}  // namespace etude::experiment
