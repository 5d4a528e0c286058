#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "etude/data/data.hpp"
#include "etude/metrics/metric.hpp"
#include "etude/training/detail/step_function.hpp"

namespace etude {

class TrainingLoop;
class Model;
class Training;

/// The loops of a model that run now.
struct RunningLoops {
  /// Identifies the thread on which they run.
  std::atomic<const void*> thread = nullptr;
  /// The innermost loop that owns the metrics, or null.
  TrainingLoop* loop = nullptr;
  /// The fit, or null.
  Training* training = nullptr;
};

/// The interface of a model to its loops: compiled steps, metrics, and the flags by which callbacks stop them.
class LoopModel {
 public:
  virtual ~LoopModel() = default;
  LoopModel() = default;
  LoopModel(const LoopModel&) = delete;
  LoopModel& operator=(const LoopModel&) = delete;

  /// The complete model, for callbacks.
  virtual Model& model() = 0;
  /// Keeps the model alive. Null if its owner holds it by value.
  virtual std::shared_ptr<const void> keep_alive() = 0;

  /// Throws Error(state) before compile.
  virtual void check_compiled(const char* method) const = 0;
  /// Builds the model for batches like this one, unless it is built.
  virtual void build_from(const Batch& example) = 0;
  virtual bool built() const = 0;
  virtual std::int64_t steps_per_execution() const = 0;
  virtual Strategy& strategy() const = 0;

  /// The compiled steps. `force`: they are compiled again.
  virtual std::shared_ptr<StepFunction> train_function(bool force = false) = 0;
  virtual std::shared_ptr<StepFunction> test_function(bool force = false) = 0;
  virtual std::shared_ptr<StepFunction> predict_function() = 0;
  /// The compiled steps of fit and evaluate, as far as they exist. The others are null.
  virtual std::array<std::shared_ptr<StepFunction>, 2> existing_functions() const = 0;

  /// The weights, and the states of optimizer and metrics.
  virtual std::vector<Variable> all_variables() const = 0;
  virtual std::vector<MetricPtr> metrics() const = 0;
  virtual void reset_metrics() = 0;
  /// Called after the last epoch: the optimizer may give variables their final values.
  virtual void finish_training() = 0;

  virtual bool& stop_training() = 0;
  virtual bool& stop_evaluating() = 0;
  virtual bool& stop_predicting() = 0;

  RunningLoops running;
};

/// Marks, while it exists, that a loop of a model runs on this thread, and keeps the model alive. Loops on the same
/// thread may be nested. Throws Error(state) while a loop of the model runs on another thread.
class OnThread {
 public:
  OnThread(LoopModel& model, const char* method);
  ~OnThread() {
    if (begun_) thread_ = nullptr;
  }
  OnThread(const OnThread&) = delete;
  OnThread& operator=(const OnThread&) = delete;

 private:
  const std::shared_ptr<const void> kept_;
  std::atomic<const void*>& thread_;
  bool begun_;
};

}  // namespace etude
