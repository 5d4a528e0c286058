#pragma once

#include <memory>

#include "etude/base/logs.hpp"
#include "etude/base/task.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/training/detail/callback_list.hpp"
#include "etude/training/detail/loop_model.hpp"

namespace etude {

/// A running fit, for callbacks that save its position and resume it: Model::training().
/// core/etude/saving/detail/training_state.hpp defines the saved state.
class Training {
 public:
  Training(LoopModel& model, DataHandler& data, const CallbackList& callbacks);
  /// Ends the fit, also after an exception: callbacks release their resources.
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  Model& model() const { return model_.model(); }
  DataHandler& data() const { return data_; }
  const std::vector<CallbackPtr>& callbacks() const { return callbacks_; }
  /// The compiled step.
  StepFunction& step() const { return *step_; }
  /// Compiles the steps again, because their traces are outdated.
  void retrace();
  /// Creates all variables of a step, if it was not traced yet, so that their values can be restored. Call it before
  /// the data is restored.
  Task<> prepare();
  /// Allocates these variables. With several processes, all of them call it at the same time.
  void place_variables();

  /// The position in validation data of a single pass; empty for other data, and before the first validation.
  DataState validation_state() const;
  /// Validation data that was set before is not used any more.
  void restore_validation(DataState state);
  /// Sets the validation data. It continues from the restored state, if there is one.
  void set_validation(DataHandler& data);

  /// The position of a resumed fit in its first epoch.
  struct Resumed {
    /// Whether the epoch has begun and not ended, even if all its steps have run.
    bool within_epoch = false;
    /// Whether training was stopped before: no step follows.
    bool stopped = false;
    /// The logs of the last step of the epoch, or, between epochs, of the previous epoch.
    Logs logs = {};
  };
  Resumed resumed;

 private:
  LoopModel& model_;
  DataHandler& data_;
  const std::vector<CallbackPtr>& callbacks_;
  std::shared_ptr<StepFunction> step_;
  DataHandler* validation_ = nullptr;
  DataState validation_state_;
};

}  // namespace etude
