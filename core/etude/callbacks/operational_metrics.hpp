#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/distribute/strategy.hpp"
#include "etude/saving/detail/checkpoint_writes.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct OperationalMetricsOptions {
  /// Seconds since any fixed moment; a monotonic clock if empty.
  std::function<double()> clock = {};

  static constexpr auto fields() { return option_rows(); }
};

/// Measures performance. The results are in the logs of each epoch, so in History, the progress bar and every callback
/// after this one, and in json():
///
///     step_latency_median_ms, step_latency_p95_ms, step_latency_p99_ms
///                               a step with its data, and with callbacks' hooks between this one's; for data
///                               of unknown size, without the wait for the first batch of an execution
///     samples_per_second        trained rows, divided by the time of their steps
///     prediction_memory_bytes   the most memory of a predict: weights, intermediate results, its outputs
///                               (including those already yielded by a predict_stream)
///     checkpoint_write_ms       the mean time to write a checkpoint, a model or weights, also in the background
///     replica_sync_ms           the mean time of the all-reduces in a step
///
/// A GPU takes work from a queue. There, the times of steps are the times to enqueue them, unless something waits for
/// their results. The time of all-reduces is the same, and is missing if they are part of a recorded step. With several
/// processes it is the time that a step waits for sums, and on a GPU also for the work before them. Steps with
/// compilation are excluded, unless an epoch has no others. A value is omitted until it is measured. Checkpoints that
/// are written after this callback's on_epoch_end count for the next epoch.
class OperationalMetrics : public Callback {
 public:
  using Options = OperationalMetricsOptions;
  static constexpr ClassText about{"OperationalMetrics",
                                   "Counts and times steps, batches and memory, for a dashboard."};
  explicit OperationalMetrics(OperationalMetricsOptions options = {});

  /// For code that writes checkpoints or all-reduces by its own means: adds the time it took to the current epoch.
  void report_checkpoint_write(double milliseconds) { checkpoint_write_.add(milliseconds); }
  /// Adds a time of all-reduces, in milliseconds.
  void report_replica_sync(double milliseconds) { replica_sync_.add(milliseconds); }

  /// {"epochs": [{"epoch": 0, "step_latency_median_ms": …, …}, …], "prediction_memory_bytes": …} of the last fit and
  /// the last predict.
  std::string json() const;

  Needs needs(Hook) const override { return Needs::nothing; }
  void on_train_begin(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_begin(std::int64_t step, Logs&) override;
  void on_train_batch_end(std::int64_t step, Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_predict_begin(Logs&) override;
  void on_predict_batch_begin(std::int64_t step, Logs&) override;
  void on_predict_batch_end(std::int64_t step, Logs&) override;
  void on_predict_end(Logs&) override;
  void release() noexcept override;

 private:
  /// The measurements of some executions.
  struct Executions {
    std::vector<double> step_milliseconds;
    double seconds = 0;
    std::int64_t samples = 0;
    void clear();
  };
  struct Mean {
    double total = 0;
    std::int64_t count = 0;
    void add(double sum, std::int64_t number = 1);
    std::optional<double> pop();
  };

  std::function<double()> clock_;
  Executions replayed_, compiled_;
  Mean checkpoint_write_, replica_sync_;
  StrategyPtr watched_;       ///< of the model in training
  double synced_ = 0;         ///< of its clock, when the execution began
  CheckpointWrites counted_;  // at the last reading
  double began_ = 0;
  std::int64_t first_step_ = 0, trained_ = 0, predicted_ = 0;
  int traces_ = 0;
  /// Of predict; unknown in eager mode.
  std::optional<std::size_t> intermediate_bytes_;
  std::size_t output_bytes_ = 0;
  std::optional<double> prediction_bytes_;
  using Figures = std::vector<std::pair<std::string, double>>;
  std::vector<Figures> epochs_;
};

namespace callbacks {

inline constexpr Factory<OperationalMetrics> operational_metrics;

}  // namespace callbacks
}  // namespace etude
