#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "etude/base/logs.hpp"
#include "etude/base/task.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/training/callback_state.hpp"

namespace etude {

class Model;

/// What fit tells its callbacks about itself.
struct CallbackParams {
  /// The index behind the last epoch.
  int epochs = 1;
  /// Steps per epoch, if known.
  std::optional<std::int64_t> steps;
  /// 0: silent, 1: a progress bar, 2: a line per epoch.
  int verbose = 1;
};

/// Hooks into fit, evaluate and predict. Logs are valid during their hook; what a hook sets in the logs of an epoch,
/// later callbacks and History see. A hook that throws ends the loop and leaves the model as it is. Source:
/// keras/src/callbacks/callback.py.
class Callback {
 public:
  using Kind = Callback;
  virtual ~Callback() = default;

  /// fit is about to begin: takes what no other training may use meanwhile, such as a lock. Called for all callbacks
  /// before the first on_train_begin, so that a fit that is refused has touched no file. model() and params() are set.
  virtual void acquire() {}

  /// fit begins.
  virtual void on_train_begin(Logs&) {}
  /// fit ends. Logs are those of the last epoch.
  virtual void on_train_end(Logs&) {}
  /// An epoch begins; the number is its index.
  virtual void on_epoch_begin(int, Logs&) {}
  /// Logs include val_* where there was a validation.
  virtual void on_epoch_end(int, Logs&) {}
  /// The index of the first step of an execution. Of data whose end is not known, its first batch is there already.
  virtual void on_train_batch_begin(std::int64_t, Logs&) {}
  /// The index of its last step (L-12).
  virtual void on_train_batch_end(std::int64_t, Logs&) {}
  /// evaluate, or a validation, begins.
  virtual void on_test_begin(Logs&) {}
  /// evaluate, or a validation, ends. Logs are those of all its batches.
  virtual void on_test_end(Logs&) {}
  /// The index of the first step of an execution.
  virtual void on_test_batch_begin(std::int64_t, Logs&) {}
  /// The index of its last step.
  virtual void on_test_batch_end(std::int64_t, Logs&) {}
  /// predict begins.
  virtual void on_predict_begin(Logs&) {}
  /// predict ends.
  virtual void on_predict_end(Logs&) {}
  /// The index of the first step of an execution.
  virtual void on_predict_batch_begin(std::int64_t, Logs&) {}
  /// Logs::outputs() gives what was computed.
  virtual void on_predict_batch_end(std::int64_t, Logs&) {}

  /// What the hook that just ran still waits for; the loop awaits it before it goes on. Null: nothing.
  virtual PendingPtr take_pending() { return nullptr; }

  /// What it has to remember so that an interrupted fit goes on as if it had not been; by default nothing. Asked for
  /// after its hooks of an execution, or of an epoch's end.
  virtual CallbackState state() const { return {}; }
  /// What state() gave in the fit that this one goes on with. Called after on_train_begin, and if that was within an
  /// epoch, after on_epoch_begin of that epoch once more. One that had stopped training stops it again.
  virtual void restore(const CallbackState&) {}
  /// Whether it needs its state() of the beginning of fit, too: restore() is then called as well when fit was
  /// interrupted before its first checkpoint. Of a callback that appends to a file.
  virtual bool remembers_start() const { return false; }
  /// Whether its hooks come after those of all others, History's and the progress bar's too: of a callback that saves
  /// what they made of a moment.
  virtual bool runs_last() const { return false; }
  /// fit is over, in good order or by what was thrown: gives back what acquire() took, and closes files.
  virtual void release() noexcept {}

  /// Called by the loop: the model that it runs.
  virtual void set_model(Model* model) { model_ = model; }
  /// Called by the loop: what it tells about itself.
  virtual void set_params(const CallbackParams& params) { params_ = params; }
  /// The model whose loop runs.
  Model& model() const { return *model_; }
  /// What the loop tells about itself.
  const CallbackParams& params() const { return params_; }

 private:
  Model* model_ = nullptr;
  CallbackParams params_;
};
using CallbackPtr = std::shared_ptr<Callback>;

}  // namespace etude
