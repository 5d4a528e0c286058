#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/data/data.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/training/detail/callback_list.hpp"
#include "etude/training/detail/loop_model.hpp"
#include "etude/training/detail/prediction_sink.hpp"
#include "etude/training/history.hpp"
#include "etude/training/options.hpp"

namespace etude {

class Membership;
class RemoteAdapter;

/// The loops of fit, evaluate and predict: epochs, executions, callbacks, validation. They are coroutines, which run
/// without suspension if nothing must be awaited. Source: Model.fit in keras/engine/training.py (2.9).
class TrainingLoop {
 public:
  /// The parts of the model that a loop changes and that two loops cannot use at the same time.
  enum class Claim : std::uint8_t { nothing, metrics, weights };

  /// Claims the model for one loop. Throws Error(state) within a trace, or while another loop has the claimed parts.
  /// Callbacks may lend the metrics to an evaluate, since their loop waits for it.
  TrainingLoop(LoopModel& model, const char* method, Claim claim);
  ~TrainingLoop();
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  Task<HistoryPtr> fit(Data data, FitOptions options);
  Task<Logs> evaluate(Data data, EvaluateOptions options);
  /// `sink` receives the outputs of each step.
  Task<> predict(Data x, PredictOptions options, PredictionSink& sink);

  /// Throws Error(state) within a trace.
  static void check_outside_steps(const char* method);

 private:
  friend class LoopBatches;
  /// The callbacks, the progress bar included.
  CallbackList list_of(std::vector<CallbackPtr> callbacks, const CallbackParams& params);
  /// One epoch's executions, until `stop`: the inner loop of fit, evaluate and predict. Returns false if there was no
  /// batch left.
  Task<bool> run_steps(StepFunction& function, DataHandler& data, CallbackList& callbacks, Hook begin, Hook end,
                       const bool& stop, PredictionSink* sink = nullptr);
  /// The same, or run_remotely() for data that other processes read.
  Task<bool> run_epoch(StepFunction& function, DataHandler& data, CallbackList& callbacks, Hook begin, Hook end,
                       const bool& stop);
  /// One epoch's steps in other processes, as one execution.
  Task<bool> run_remotely(RemoteAdapter& remote, StepFunction& function, DataHandler& data, CallbackList& callbacks,
                          Hook begin, Hook end);
  /// The logs of the last epoch.
  Logs logs_of(StepFunction& function) const;
  // For a device whose memory the host can read only later.
  /// Starts to fetch the values that a hook reads: logs, and perhaps all variables. Null if there are none.
  PendingPtr fetch(Needs needs) const;
  PendingPtr fetch_outputs(const StepFunction& function) const;
  /// Yields to other work, if it is time.
  PendingPtr turn(bool epoch_over) const;
  /// The same after a trace. The option give_turn applies to executions and epochs only.
  PendingPtr turn_after_trace() const;
  struct Fit;
  /// All epochs of a fit, or those that are left.
  Task<> run_epochs(Fit& fit);
  /// The same with processes that may leave and join.
  Task<> run_epochs(Fit& fit, Membership& membership);
  /// The validation of an epoch.
  Task<Logs> validate(Fit& fit);
  Task<Logs> run_validation(DataHandler& data, CallbackList& callbacks);
  /// The adapter of this process.
  std::unique_ptr<DataAdapter> adapter_of(const Data& data, const AdapterOptions& options, Purpose purpose) const;
  /// Also builds the model, from the first batch, if it is not built yet.
  Task<DataHandler> make_handler(std::unique_ptr<DataAdapter> adapter, DataHandlerOptions options);
  Task<DataHandler> make_handler(const Data& data, const AdapterOptions& options, Purpose purpose);
  /// Fetches the logs of a loop that waits for this one, or alternates with it, before this loop's steps overwrite
  /// them.
  void keep_logs() const;
  void keep_or_check_claim() const;

  /// Empty logs, for hooks without logs. Entries that a callback writes are discarded.
  Logs& no_logs() { return none_ = {}; }

  /// Keeps the model alive: a callback may drop its last reference. It is the first member, so that the model is
  /// destroyed last.
  const std::shared_ptr<const void> kept_;
  LoopModel& model_;
  Claim claim_;
  GiveTurn give_turn_;
  /// Whether the host can read device memory only after it was fetched.
  const bool reads_later_;
  TrainingLoop* outer_ = nullptr;
  /// The sums of the outer loop's metrics: a callback's evaluate does not change those of the epoch.
  std::vector<std::pair<Variable, Tensor>> lent_;
  Logs none_;
  /// Those of the last epoch, if other processes have computed it.
  std::optional<Logs> remote_logs_;
  bool in_hook_ = false;
};

/// The options of a loop for its data.
inline AdapterOptions adapter_options(std::optional<std::int64_t> batch_size, std::optional<std::int64_t> steps,
                                      const auto& loop) {
  AdapterOptions options;
  options.rows.batch_size = batch_size;
  options.rows.steps = steps;
  options.workers = loop.workers;
  options.max_queue_size = loop.max_queue_size;
  return options;
}

/// One execution of a loop, for functions that replace its steps.
struct LoopExecution {
  TrainingLoop& loop;
  StepFunction& function;
  DataHandler& data;
  CallbackList& callbacks;
  /// The hook that comes before the first batch, its step, and whether it was called.
  Hook begin;
  std::int64_t step;
  bool& begun;
  /// The receiver of predict's outputs; null for other loops.
  PredictionSink* sink;
};

/// Runs predict of that model as a separate loop.
Task<> predict_into(LoopModel& model, Data x, PredictOptions options, PredictionSink& sink);

}  // namespace etude
