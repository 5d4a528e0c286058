#include "etude/training/detail/training_loop.hpp"

#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/training/detail/remote_steps.hpp"
#include "etude/training/detail/training.hpp"
#include "etude/training/detail/worker_adapter.hpp"
#include "etude/training/progbar_logger.hpp"

namespace etude {
namespace {

std::vector<CallbackPtr> with_progress_bar(std::vector<CallbackPtr> callbacks, int verbose) {
  if (verbose) callbacks.push_back(std::make_shared<ProgbarLogger>());
  return callbacks;
}

}  // namespace

TrainingLoop::TrainingLoop(LoopModel& model, const char* method, Claim claim)
    : kept_(model.keep_alive()), model_(model), claim_(claim), reads_later_(model.strategy().device().reads_later()) {
  check_outside_steps(method);
  keep_logs();
  if (claim == Claim::nothing) return;
  outer_ = model.running.loop;
  check(!outer_ || (outer_->in_hook_ && claim == Claim::metrics), ErrorKind::state, method,
        "Cannot start because another fit() or evaluate() of this model is ongoing - expected one at a time - await it "
        "first.");
  if (outer_)
    for (const MetricPtr& metric : model.metrics())
      for (const Variable& variable : metric->variables()) lent_.emplace_back(variable, variable.value());
  model.running.loop = this;  // last, because no destructor runs after an error above
}

TrainingLoop::~TrainingLoop() {
  // Not always the innermost loop: an asynchronous callback may not have awaited its evaluate.
  TrainingLoop** place = &model_.running.loop;
  while (*place && *place != this) place = &(*place)->outer_;
  if (*place) *place = outer_;
  if (claim_ != Claim::nothing && !outer_)
    for (const auto& function : model_.existing_functions()) {
      if (!function) continue;
      try {
        function->abandon();  // of a loop that was abandoned within an execution
      } catch (...) {
        // A destructor cannot throw. The next step on that device fails with the same error.
      }
      function->release_arrays();
    }
  if (!outer_) return;
  try {
    model_.reset_metrics();
  } catch (...) {
    // A destructor cannot throw. A custom metric failed; the variables of all metrics are restored below.
  }
  try {
    for (auto& [variable, value] : lent_) variable.assign(value);
  } catch (...) {
    // A destructor cannot throw. The next step on that device fails with the same error.
  }
}

void TrainingLoop::check_outside_steps(const char* method) {
  check(!Graph::tracing(), ErrorKind::state, method, "Detected a call to `Model.", method,
        "` inside a step - expected a call outside of steps - a step processes one "
        "batch; call the loop outside the model.");
}

void TrainingLoop::keep_logs() const {
  if (!model_.running.loop) return;
  for (const auto& function : model_.existing_functions())
    if (function) function->keep_logs();
}

std::unique_ptr<DataAdapter> TrainingLoop::adapter_of(const Data& data, const AdapterOptions& options,
                                                      Purpose purpose) const {
  if (RemoteSteps* const remote = model_.strategy().remote(); remote && purpose != Purpose::prediction) {
    const auto* const creator = std::get_if<DatasetCreator>(&data.kind());
    if (creator) return std::make_unique<RemoteAdapter>(*creator, options.rows.steps, *remote);
    check(purpose != Purpose::training, ErrorKind::value, model_.strategy().name(), data.to_string(),
          " as training data - expected a DatasetCreator, by which the workers create their datasets - pass one.");
  }
  if (Workers* const workers = model_.strategy().others()) return worker_adapter(data, options, purpose, *workers);
  return data.adapter(options);
}

Task<DataHandler> TrainingLoop::make_handler(std::unique_ptr<DataAdapter> adapter, DataHandlerOptions options) {
  options.steps_per_execution = model_.steps_per_execution();
  // Other processes run all steps of an epoch before a callback sees their results.
  if (has_device_libraries && dynamic_cast<RemoteAdapter*>(adapter.get()))
    options.steps_per_execution = options.steps_per_epoch.value_or(1);
  DataHandler handler(std::move(adapter), std::move(options));
  if (!model_.built()) {
    if (PendingPtr pending = handler.adapter().fetch()) co_await std::move(pending);
    if (const Batch* example = handler.adapter().peek()) model_.build_from(*example);
  }
  co_return handler;
}

Task<DataHandler> TrainingLoop::make_handler(const Data& data, const AdapterOptions& options, Purpose purpose) {
  check(options.rows.steps.value_or(1) > 0, ErrorKind::value, "data", "steps = ", options.rows.steps.value_or(0),
        " - expected 1 or more - pass a positive number.");
  DataHandlerOptions once;
  once.steps_per_epoch = options.rows.steps;
  once.may_be_exhausted = true;  // a second epoch means that fit validates again
  once.purpose = purpose;
  return make_handler(adapter_of(data, options, purpose), std::move(once));
}

Task<bool> TrainingLoop::run_steps(StepFunction& function, DataHandler& data, CallbackList& callbacks, Hook begin,
                                   Hook end, const bool& stop, PredictionSink* sink) {
  bool ran = false;
  for (const std::int64_t step : data.steps()) {
    // If the data may be exhausted, a step begins only when its batch is available, so every step that begins also
    // ends.
    bool begun = data.steps_are_certain();
    if (begun) co_await callbacks.run(begin, step, no_logs());
    try {
      const std::shared_ptr<ReplacedExecution> replaced = function.replaced();
      if (replaced) {
        LoopExecution execution{*this, function, data, callbacks, begin, step, begun, sink};
        co_await replaced->run(execution);
      }
      for (std::int64_t i = 0; !replaced && i <= data.step_increment(); ++i) {
        const Batch* batch = nullptr;
        {
          const Watcher::Span span(function.watcher(), "data");
          if (PendingPtr pending = data.fetch()) co_await std::move(pending);
          batch = data.consume();
        }
        if (!batch) {
          data.stop_iteration();
          break;
        }
        if (!std::exchange(begun, true)) co_await callbacks.run(begin, step, no_logs());
        if (reads_later_ && claim_ == Claim::nothing && model_.running.loop) co_await fetch(Needs::logs);
        keep_or_check_claim();
        if (function.prepare(*batch)) {
          if (PendingPtr others = turn_after_trace()) co_await std::move(others);
          keep_or_check_claim();
          function.prepare(*batch);  // since another loop may have run steps of the same function
        }
        function.upload(*batch, data.purpose());
        if (!sink) continue;
        function.finish();
        if (reads_later_) co_await fetch_outputs(function);
        sink->receive(function);
      }
    } catch (...) {
      function.abandon();  // on one process the batches before the failure count
      throw;
    }
    function.finish();
    if (data.step_increment() < 0) break;
    ran = true;
    if (Watcher* const watcher = function.watcher()) watcher->hooks_follow();
    co_await callbacks.run(end, step + data.step_increment(), sink ? sink->logs() : function.logs());
    if (PendingPtr others = turn(false)) co_await std::move(others);
    if (sink)
      if (PendingPtr handed = sink->hand_over()) co_await std::move(handed);
    if (stop || (sink && sink->closed())) break;
  }
  co_return ran;
}

PendingPtr TrainingLoop::fetch(Needs needs) const {
  std::vector<StorageRange> ranges;
  if (needs != Needs::nothing)
    for (const auto& function : model_.existing_functions())
      if (function) function->add_log_ranges(ranges);
  if (needs == Needs::variables)
    for (const Variable& variable : model_.all_variables())
      if (variable.bytes() > 0 && variable.storage() && !variable.storage()->in_host_memory())
        ranges.push_back({variable.storage().get(), variable.offset(), variable.bytes()});
  return ranges.empty() ? nullptr : model_.strategy().device().fetch(ranges);
}

PendingPtr TrainingLoop::fetch_outputs(const StepFunction& function) const {
  std::vector<StorageRange> ranges;
  function.add_output_ranges(ranges);
  return model_.strategy().device().fetch(ranges);
}

CallbackList TrainingLoop::list_of(std::vector<CallbackPtr> callbacks, const CallbackParams& params) {
  CallbackList::Fetch fetches;
  if (reads_later_) fetches = [this](Needs needs) { return fetch(needs); };
  return {with_progress_bar(std::move(callbacks), params.verbose), model_.model(), params, in_hook_,
          std::move(fetches)};
}

/// Called before each step of the model.
void TrainingLoop::keep_or_check_claim() const {
  if (claim_ == Claim::nothing) return keep_logs();
  check(model_.running.loop == this, ErrorKind::state, "fit",
        "an evaluate() of a callback still runs - expected it to end within its hook - await it there.");
}

PendingPtr TrainingLoop::turn(bool epoch_over) const {
  if (give_turn_) return give_turn_(epoch_over);
  return host().yield && !epoch_over ? host().yield() : nullptr;
}

PendingPtr TrainingLoop::turn_after_trace() const { return give_turn_ ? nullptr : turn(false); }

Task<Logs> TrainingLoop::run_validation(DataHandler& data, CallbackList& callbacks) {
  const auto test_function = model_.test_function();
  model_.reset_metrics();
  model_.stop_evaluating() = false;
  co_await callbacks.run(Hook::test_begin, no_logs());
  bool ran = false;
  for ([[maybe_unused]] const int epoch : data.enumerate_epochs())
    ran = co_await run_epoch(*test_function, data, callbacks, Hook::test_batch_begin, Hook::test_batch_end,
                             model_.stop_evaluating());
  // Exhausted validation data of a single pass has no logs.
  if (reads_later_) co_await fetch(Needs::logs);
  Logs logs = ran ? logs_of(*test_function) : Logs();
  co_await callbacks.run(Hook::test_end, logs);
  co_return logs;
}

Task<Logs> TrainingLoop::evaluate(Data data, EvaluateOptions options) {
  model_.check_compiled("evaluate");
  DataHandler handler =
      co_await make_handler(data, adapter_options(options.batch_size, options.steps, options), Purpose::evaluation);
  const bool remote = has_device_libraries && dynamic_cast<RemoteAdapter*>(&handler.adapter());
  if (remote) check_remote_loop(options.verbose, options.callbacks, Purpose::evaluation);
  const int verbose = options.verbose < 0 ? (remote ? 2 : 1) : options.verbose;
  CallbackList callbacks = list_of(options.callbacks, {1, handler.inferred_steps(), verbose});
  co_return co_await run_validation(handler, callbacks);
}

Task<> TrainingLoop::predict(Data x, PredictOptions options, PredictionSink& sink) {
  DataHandler handler =
      co_await make_handler(x, adapter_options(options.batch_size, options.steps, options), Purpose::prediction);
  const int verbose = options.verbose < 0 ? 1 : options.verbose;
  CallbackList callbacks = list_of(options.callbacks, {1, handler.inferred_steps(), verbose});
  const auto predict_function = model_.predict_function();
  model_.stop_predicting() = false;
  co_await callbacks.run(Hook::predict_begin, no_logs());
  bool ran = false;
  for ([[maybe_unused]] const int epoch : handler.enumerate_epochs())
    ran = co_await run_steps(*predict_function, handler, callbacks, Hook::predict_batch_begin, Hook::predict_batch_end,
                             model_.stop_predicting(), &sink);
  co_await callbacks.run(Hook::predict_end, no_logs());
  check(
      ran, ErrorKind::data, "predict",
      "Unexpected result of `predict_function` (Empty batch_outputs) - expected at least one batch - check the data.");
}

Task<> predict_into(LoopModel& model, Data x, PredictOptions options, PredictionSink& sink) {
  TrainingLoop loop(model, "predict", TrainingLoop::Claim::nothing);
  co_await loop.predict(std::move(x), std::move(options), sink);
}

}  // namespace etude
