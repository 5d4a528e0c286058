#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "etude/base/task.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/training/callback_list.hpp"
#include "etude/training/model.hpp"
#include "etude/training/prediction_sink.hpp"

namespace etude {

/// The loops: epochs, executions, callbacks, validation. Written once, as coroutines that run straight through where
/// nothing has to be waited for. Source: Model.fit in keras/engine/training.py (2.9).
class Trainer {
 public:
  /// What of the model a loop changes, and so cannot share.
  enum class Claim : std::uint8_t { nothing, metrics, weights };

  /// Takes the model for one loop. Throws Error(state) within a trace, or while another loop has what is claimed:
  /// callbacks may lend the metrics to an evaluate, for their loop waits until they are done.
  Trainer(Model& model, const char* method, Claim claim);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  Task<HistoryPtr> fit(Data data, FitOptions options);
  Task<Logs> evaluate(Data data, EvaluateOptions options);
  /// `sink` gets what each step makes of its batch.
  Task<> predict(Data x, PredictOptions options, PredictionSink& sink);

  /// Throws Error(state) within a trace.
  static void check_outside_steps(const char* method);

 private:
  using BatchHook = void (Callback::*)(std::int64_t, Logs&);
  /// One epoch's executions, until `stop`: the inner loop of all three. False: there was no batch left.
  Task<bool> run_steps(StepFunction& function, DataHandler& data, CallbackList& callbacks, BatchHook begin,
                       BatchHook end, const bool& stop, PredictionSink* sink = nullptr);
  /// Others have their turn, if it is time.
  PendingPtr turn(bool epoch_over) const;
  /// The same after a trace; the option give_turn is for executions and epochs alone.
  PendingPtr turn_after_trace() const;
  Task<Logs> run_validation(DataHandler& data, CallbackList& callbacks);
  /// Arrays that came by name as the model wants them.
  Data in_order(const Data& data) const;
  /// Builds the model too, from the first batch, if it is not built yet.
  Task<DataHandler> make_handler(std::unique_ptr<DataAdapter> adapter, DataHandlerOptions options);
  Task<DataHandler> make_handler(const Data& data, const AdapterOptions& options, Purpose purpose);
  /// Fetches the logs of a loop that waits for this one, or takes turns with it, before this one's steps overwrite
  /// them.
  void keep_logs() const;
  void keep_or_check_claim() const;

  /// For hooks that have none; what a callback writes there is gone afterwards.
  Logs& no_logs() { return none_ = {}; }

  /// A callback may drop the last reference to the model. Null if the caller holds the model by value. First, so that
  /// the model goes last.
  const LayerPtr kept_;
  Model& model_;
  Claim claim_;
  GiveTurn give_turn_;
  Trainer* outer_ = nullptr;
  /// The outer loop's sums: what a callback evaluates does not count for the epoch.
  std::vector<std::pair<Variable, Tensor>> lent_;
  Logs none_;
  bool in_hook_ = false;
};

}  // namespace etude
