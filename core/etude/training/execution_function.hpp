#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "etude/base/logs.hpp"
#include "etude/base/task.hpp"
#include "etude/data/batch.hpp"

namespace etude {

class StepFunction;

/// The batches of one execution of a loop: as many as `steps_per_execution`, or fewer at the end of the data.
class BatchIterator {
 public:
  virtual ~BatchIterator() = default;
  /// The next batch, which is valid until the next call; null after the last one. Batches that are not taken are
  /// skipped.
  virtual Task<const Batch*> next() = 0;
};

/// The result of an execution.
struct ExecutionResult {
  /// The logs of the execution, for callbacks, and at its end for the epoch.
  Logs logs = {};
  /// Of predict: each output, for the rows of all batches of the execution.
  std::vector<Tensor> outputs = {};
};

/// A function that runs an execution, of at least one batch: it takes batches, runs steps, and returns logs, or outputs
/// for predict.
using ExecutionFunction = std::function<Task<ExecutionResult>(StepFunction& function, BatchIterator& batches)>;

// Defined in core/etude/training/detail/replaced_execution.cpp, because StepFunction includes this file.
/// The default execution: one step on each batch. The logs are those of the last step, and are read from the device.
/// For functions of replace_execution().
Task<ExecutionResult> run_steps(StepFunction& function, BatchIterator& batches);
/// The same for one batch, which may be another one than those of the data.
Task<ExecutionResult> run_step(StepFunction& function, const Batch& batch);

/// Lets loops call `execution` for each execution of these steps, instead of run_steps(). A model overrides
/// make_train_function(), make_test_function() or make_predict_function():
///
///     std::shared_ptr<StepFunction> make_train_function(bool force) override {
///       return replace_execution(Sequential::make_train_function(force), twice);
///     }
///     static Task<ExecutionResult> twice(StepFunction& function, BatchIterator& batches) {
///       const Batch* batch = co_await batches.next();
///       co_await run_step(function, *batch);
///       co_return co_await run_step(function, *batch);
///     }
///
/// The steps are still traced once and replayed. train_on_batch() and similar functions call it with one batch. Throws
/// Error(value) in predict for an execution without outputs. Returns `function`. Source: make_train_function in
/// keras/src/backend/tensorflow/trainer.py.
std::shared_ptr<StepFunction> replace_execution(std::shared_ptr<StepFunction> function, ExecutionFunction execution);

}  // namespace etude
