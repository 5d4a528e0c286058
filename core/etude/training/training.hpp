#pragma once

#include <memory>

#include "etude/base/logs.hpp"
#include "etude/base/task.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/training/callback_list.hpp"
#include "etude/training/step_function.hpp"

namespace etude {

/// A fit that runs, for callbacks that save where it stands and let it go on from there: Model::training(). What there
/// is to save of it, core/saving/training_state.hpp knows.
class Training {
 public:
  Training(Model& model, DataHandler& data, const CallbackList& callbacks);
  /// The fit is over, in whatever way: callbacks are told to release what they hold.
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  Model& model() const { return model_; }
  DataHandler& data() const { return data_; }
  const std::vector<CallbackPtr>& callbacks() const { return callbacks_; }
  /// The compiled step.
  StepFunction& step() const { return *step_; }
  /// Compiles the steps anew: what they traced has changed.
  void retrace();
  /// Makes all variables that a step makes, if it was not traced yet, so that they can be given values. To be called
  /// before the data is set to where it goes on.
  Task<> prepare();

  /// Validation data that comes once stands somewhere too; empty for other data, and where there is none yet.
  DataState validation_state() const;
  void restore_validation(DataState state) { validation_state_ = std::move(state); }
  /// There is validation data now, which goes on from the state that was restored, if one was.
  void set_validation(DataHandler& data);

  /// Where the first epoch of a fit that goes on finds itself.
  struct Resumed {
    /// In the middle of the epoch, or after all of its steps but not its end.
    bool within_epoch = false;
    /// Training was stopped before: no step follows.
    bool stopped = false;
    /// Of the last step of the epoch, or, between epochs, of the epoch before.
    Logs logs = {};
  };
  Resumed resumed;

 private:
  Model& model_;
  DataHandler& data_;
  const std::vector<CallbackPtr>& callbacks_;
  std::shared_ptr<StepFunction> step_;
  DataHandler* validation_ = nullptr;
  DataState validation_state_;
};

}  // namespace etude
