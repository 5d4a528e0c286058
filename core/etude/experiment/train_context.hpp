#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "etude/base/logs.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

class EventFile;

}  // namespace etude

namespace etude::experiment {

struct ClusterInfo;

/// Reports of a trial: Context::train. They are lines of a file, metrics.jsonl, each a JSON object:
///
///     {"group":"validation","steps_completed":100,"metrics":{"loss":0.25},"time":1700000000.5}
///     {"progress":0.5}
///     {"status":"preempted"}
///
/// A line is written and flushed as a whole. An unfinished line, which a crash may leave at the end, is removed when
/// the trial is started again. While this object exists, it holds the lock of the storage. A value that is not a
/// number, or infinite, is null. In processes other than that of rank 0 the functions do nothing. Source:
/// determined.core.TrainContext.
class TrainContext {
 public:
  /// Writes to the storage of that trial. Throws Error(state) if another process or context uses it, Error(io) if the
  /// file cannot be opened.
  TrainContext(const ClusterInfo& info, std::shared_ptr<Vfs> files, bool is_chief, bool tensorboard);
  ~TrainContext();
  TrainContext(const TrainContext&) = delete;
  TrainContext& operator=(const TrainContext&) = delete;

  /// Reports metrics after `steps_completed` batches: of "training", "validation", or another group. With TensorBoard
  /// they are also written to `storage`/tensorboard/`group`. Throws Error(value) for an empty group or a negative
  /// number of steps.
  ///
  ///     context.train.report_metrics("validation", 100, {{"loss", 0.25}});
  void report_metrics(const std::string& group, std::int64_t steps_completed, const Logs& metrics);
  /// Reports which part of the trial is done. Throws Error(value) unless it is from 0 to 1.
  void report_progress(double progress);
  /// Reports the state of the trial, in a word or two.
  void set_status(const std::string& status);
  /// Reports that the hyperparameters are invalid.
  void report_invalid_hp(const std::string& message);

  /// Closes the files and releases the lock of the storage. Later reports do nothing.
  void close();

  /// From now on, metrics that an earlier run of the trial has reported are not reported again: those of a group with a
  /// lower or the same number of steps. For a trial that is started again.
  void continue_reports() { continues_ = true; }

 private:
  void open();
  void write(std::string line);

  const std::string storage_, path_;
  const std::shared_ptr<Vfs> files_;
  const bool is_chief_, tensorboard_;
  std::unique_ptr<FileLock> lock_;
  std::unique_ptr<FileSink> file_;
  /// By group: the number of steps of the last report of earlier runs.
  std::map<std::string, std::int64_t> reported_;
  std::map<std::string, std::unique_ptr<EventFile>> events_;
  bool continues_ = false;
};

}  // namespace etude::experiment
