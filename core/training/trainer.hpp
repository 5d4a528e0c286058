#pragma once

#include <functional>

#include "etude/base/task.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/training/callback_list.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// The loops: epochs, executions, callbacks, validation. Written once, as coroutines that run straight through where
/// nothing has to be waited for. Source: Model.fit in keras/engine/training.py (2.9).
class Trainer {
 public:
  /// Takes the model for one loop; throws Error(state) within a trace or while another loop has it.
  Trainer(Model& model, const char* method);
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  Task<HistoryPtr> fit(Data data, FitOptions options);
  Task<Logs> evaluate(Data data, EvaluateOptions options);
  Task<Tensor> predict(Data x, PredictOptions options);

 private:
  using BatchHook = void (Callback::*)(std::int64_t, Logs&);
  /// One epoch's executions: the inner loop of all three.
  Task<> run_steps(StepFunction& function, DataHandler& data, CallbackList& callbacks, BatchHook begin, BatchHook end,
                   std::function<void()> after_step = {});
  Task<Logs> run_validation(DataHandler& data, CallbackList& callbacks);
  DataHandler make_handler(const Data& data, const TensorLikeOptions& arrays, DataHandlerOptions options);

  Model& model_;
  Logs none_;
};

}  // namespace etude
