#include "etude/training/execution_function.hpp"

#include <utility>

#include "etude/base/error.hpp"
#include "etude/training/detail/training_loop.hpp"

// Functions that replace the executions of loops.

namespace etude {
namespace {

/// One batch.
class SingleBatch : public BatchIterator {
 public:
  explicit SingleBatch(const Batch& batch) : batch_(&batch) {}
  Task<const Batch*> next() override { co_return std::exchange(batch_, nullptr); }

 private:
  const Batch* batch_;
};

}  // namespace

/// The batches of an execution of a loop.
class LoopBatches : public BatchIterator {
 public:
  explicit LoopBatches(LoopExecution& execution) : execution_(execution) {}

  /// Takes the first batch. False if there is none: the data is exhausted.
  Task<bool> begin() {
    first_ = co_await take();
    co_return first_ != nullptr;
  }
  Task<const Batch*> next() override {
    const Batch* batch = std::exchange(first_, nullptr);
    if (!batch) batch = co_await take();
    co_return batch;
  }

 private:
  Task<const Batch*> take() {
    TrainingLoop& loop = execution_.loop;
    DataHandler& data = execution_.data;
    if (taken_ > data.step_increment()) co_return nullptr;
    ++taken_;
    PendingPtr pending = data.fetch();
    co_await std::move(pending);
    const Batch* batch = data.consume();
    if (!batch) {
      data.stop_iteration();
      taken_ = data.step_increment() + 1;
      co_return nullptr;
    }
    if (!std::exchange(execution_.begun, true))
      co_await execution_.callbacks.run(execution_.begin, execution_.step, loop.no_logs());
    if (loop.reads_later_ && loop.claim_ == TrainingLoop::Claim::nothing && loop.model_.running.loop)
      co_await loop.fetch(Needs::logs);
    loop.keep_or_check_claim();
    co_return batch;
  }

  LoopExecution& execution_;
  const Batch* first_ = nullptr;
  std::int64_t taken_ = 0;
};

namespace {

class GivenExecution : public ReplacedExecution {
 public:
  explicit GivenExecution(ExecutionFunction run) : run_(std::move(run)) {}

  Task<> run(LoopExecution& execution) override {
    LoopBatches batches(execution);
    const bool begun = co_await batches.begin();
    if (!begun) co_return;
    ExecutionResult result = co_await run_(execution.function, batches);
    for (const Batch* batch = nullptr;;) {
      batch = co_await batches.next();
      if (!batch) break;
    }
    const bool gives_outputs = !result.outputs.empty();
    check(
        gives_outputs || !execution.sink, ErrorKind::value, "predict",
        "Unexpected result of `predict_function` (Empty batch_outputs) - expected the outputs of its batches - return "
        "them from the function of make_predict_function().");
    execution.function.set_result(std::move(result));
    if (execution.sink) execution.sink->receive(execution.function);
  }

  void run_on(StepFunction& function, const Batch& batch) override {
    SingleBatch batches(batch);
    function.set_result(run_(function, batches).get());
  }

 private:
  ExecutionFunction run_;
};

}  // namespace

Task<ExecutionResult> run_steps(StepFunction& function, BatchIterator& batches) {
  ConcatenatedPredictions outputs(0);
  bool ran = false;
  for (const Batch* batch = nullptr;;) {
    batch = co_await batches.next();
    if (!batch) break;
    function.run(*batch);
    PendingPtr pending = function.fetch_results();
    co_await std::move(pending);
    outputs.receive(function);
    ran = true;
  }
  co_return ExecutionResult{ran ? fetched(function.logs()) : Logs(), outputs.concatenated()};
}

Task<ExecutionResult> run_step(StepFunction& function, const Batch& batch) {
  SingleBatch batches(batch);
  ExecutionResult result = co_await run_steps(function, batches);
  co_return result;
}

std::shared_ptr<StepFunction> replace_execution(std::shared_ptr<StepFunction> function, ExecutionFunction execution) {
  function->replace(std::make_shared<GivenExecution>(std::move(execution)));
  return function;
}

}  // namespace etude
