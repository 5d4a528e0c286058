#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/vfs.hpp"
#include "etude/experiment/search/search_run.hpp"

/// Runs searches: each trial is a child process on this machine.
namespace etude::experiment {

/// How run_search runs trials.
struct SearchRunOptions {
  /// The program of all trials and its arguments.
  std::vector<std::string> program = {};
  /// The most processes at a time; 0: max_concurrent_trials, or without that the number of the machine's threads.
  int processes = 0;
  /// The seconds between SIGTERM and SIGKILL.
  double grace = 30;
  /// The files; host().files if null. The trials' own files are the system's.
  std::shared_ptr<Vfs> files = {};
  /// Waits that long, in seconds, or until a child process ends. Returns whether the search should be interrupted; if
  /// it returns that again, a second or more later, the trials are killed without waiting for `grace`. Sleeps if empty.
  std::function<bool(double seconds)> wait = {};
  /// The seconds between two looks at the trials' files.
  double interval = 0.1;
  /// Called at each change of a trial, with a text such as "created", "running" or "validated", or a warning; and for
  /// the trials of a search that continues, with "restored".
  ReportTrial report = {};
};

/// Runs a search to its end, or continues one that was interrupted or killed, in the folder config.storage. Trial 1 has
/// the folder trial_1: the file trial.json, whose path is in the variable ETUDE_TRIAL of the program's environment,
/// describes the trial to the program; the program appends to metrics.jsonl; and log.txt has its output. search.json
/// has the state of the search, and is replaced after every event.
///
/// A program that ends with status 0 has finished. With another status it is started again, up to max_restarts times;
/// after status 143, which means that it has saved its state because of a SIGTERM, this does not count if it has
/// reported anything. Throws Error(io) if a file or a program refuses, Error(state) if the folder is in use, and
/// Error(value) if it has the files of another search; all trials are killed then.
SearchResult run_search(const SearchConfig& config, const SearchRunOptions& options);

}  // namespace etude::experiment
