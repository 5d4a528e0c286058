#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etude/distribute/strategy.hpp"
#include "etude/saving/checkpoint_writes.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct OperationalMetricsOptions {
  /// Seconds since any fixed moment; a monotonic clock if empty.
  std::function<double()> clock = {};

  static constexpr auto fields() { return option_rows(); }
};

/// How the machine does, beside how the model does: in the logs of each epoch, and so in History, the progress bar and
/// every other callback that comes after this one, and as JSON.
///
///     step_latency_median_ms, step_latency_p95_ms, step_latency_p99_ms
///                               a step with its data, and with the hooks of callbacks between this one's; of data
///                               whose end is not known, without the wait for the first batch of an execution
///     samples_per_second        rows trained, by the time that their steps took
///     prediction_memory_bytes   the most that a predict needed: weights, intermediate results, its outputs
///                               (those too that a predict_stream has handed on)
///     checkpoint_write_ms       writing a checkpoint, a model or weights, on average; in the background too
///     replica_sync_ms           joining the replicas' gradients in a step, on average
///
/// A GPU takes its work from a queue: there, the times of steps are those of queueing them, as far as nothing waits for
/// their results, and so is that of joining replicas, which has none where it is part of a recorded step. A step that
/// was compiled first does not count, unless an epoch has no other. A figure is absent until there is one.
/// What this process writes after this one's end of an epoch counts for the next.
class OperationalMetrics : public Callback {
 public:
  using Options = OperationalMetricsOptions;
  static constexpr ClassText about{"OperationalMetrics",
                                   "Counts and times steps, batches and memory, for a dashboard."};
  explicit OperationalMetrics(OperationalMetricsOptions options = {});

  /// For code that writes checkpoints or sums over replicas by its own means: how long it took. Count for the
  /// epoch they fall into.
  void report_checkpoint_write(double milliseconds) { checkpoint_write_.add(milliseconds); }
  /// Adds a time for which replicas waited for each other, in milliseconds.
  void report_replica_sync(double milliseconds) { replica_sync_.add(milliseconds); }

  /// {"epochs": [{"epoch": 0, "step_latency_median_ms": …, …}, …], "prediction_memory_bytes": …}: of the last fit and
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
  /// What some executions took.
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
    std::optional<double> take();
  };

  std::function<double()> clock_;
  Executions replayed_, compiled_;
  Mean checkpoint_write_, replica_sync_;
  StrategyPtr watched_;       ///< of the model that is in training
  double joined_ = 0;         ///< by its clock, when the execution began
  CheckpointWrites counted_;  // when they were looked at
  double began_ = 0;
  std::int64_t first_step_ = 0, trained_ = 0, predicted_ = 0;
  int traces_ = 0;
  /// Of predict; none in eager mode, where it is not known.
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
