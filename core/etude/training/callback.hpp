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

/// The parameters of a fit, for its callbacks.
struct CallbackParams {
  /// The index after the last epoch.
  int epochs = 1;
  /// Steps per epoch, if known.
  std::optional<std::int64_t> steps;
  /// 0: silent, 1: a progress bar, 2: a line per epoch.
  int verbose = 1;
};

/// A hook of callbacks.
enum class Hook : std::uint8_t {
  train_begin,
  train_end,
  epoch_begin,
  epoch_end,
  train_batch_begin,
  train_batch_end,
  test_begin,
  test_end,
  test_batch_begin,
  test_batch_end,
  predict_begin,
  predict_end,
  predict_batch_begin,
  predict_batch_end
};

/// The values that a hook reads from the device.
enum class Needs : std::uint8_t {
  nothing,
  logs,
  /// Logs, and all variables: weights, and the states of optimizer and metrics.
  variables
};

/// Hooks into fit, evaluate and predict. Logs are valid during their hook. Values that a hook writes into the logs of
/// an epoch are visible to later callbacks and History. A hook that throws ends the loop and leaves the model
/// unchanged. Source: keras/src/callbacks/callback.py.
class Callback {
 public:
  using Kind = Callback;
  virtual ~Callback() = default;

  /// Called before fit begins: acquires exclusive resources, such as a lock. It is called for all callbacks before the
  /// first on_train_begin, so that a refused fit has changed no file. model() and params() are set.
  virtual void acquire() {}

  /// fit begins.
  virtual void on_train_begin(Logs&) {}
  /// fit ends. Logs are those of the last epoch.
  virtual void on_train_end(Logs&) {}
  /// An epoch begins; the number is its index.
  virtual void on_epoch_begin(int, Logs&) {}
  /// Logs include val_* after a validation.
  virtual void on_epoch_end(int, Logs&) {}
  /// The index of the first step of an execution. If the end of the data is unknown, its first batch is available
  /// already.
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
  /// Logs::outputs() has the outputs.
  virtual void on_predict_batch_end(std::int64_t, Logs&) {}

  /// The data that a hook reads. On devices whose memory the host can read only later, such as those of WebGPU, the
  /// loop fetches it before the hook; reading more is an error there. On other devices it is not called.
  virtual Needs needs(Hook) const { return Needs::variables; }
  /// The pending work of the last hook, which the loop awaits before it continues. Null: none.
  virtual PendingPtr take_pending() { return nullptr; }

  /// The state that an interrupted fit needs to continue with the same results; default: empty. Called after its hooks
  /// of an execution, or of an epoch's end.
  virtual CallbackState state() const { return {}; }
  /// Restores a state of the interrupted fit. Called after on_train_begin, and within an epoch after another
  /// on_epoch_begin of that epoch. A callback that had stopped training stops it again.
  virtual void restore(const CallbackState&) {}
  /// Whether it also needs its state() from the beginning of fit: then restore() is also called if fit was interrupted
  /// before its first checkpoint. For callbacks that append to a file.
  virtual bool remembers_start() const { return false; }
  /// Whether its hooks run after those of all others, History's and the progress bar's too. For callbacks that save the
  /// states of the others.
  virtual bool runs_last() const { return false; }
  /// Called when fit ends, also by an exception: releases the resources of acquire(), and closes files.
  virtual void release() noexcept {}

  /// Called by the loop: the model that it runs.
  virtual void set_model(Model* model) { model_ = model; }
  /// Called by the loop: its parameters.
  virtual void set_params(const CallbackParams& params) { params_ = params; }
  /// In elastic training: processes left or joined, and fit returns to an earlier step. Called before restore(): closes
  /// files that restore() opens again. The rank of this process may have changed.
  virtual void on_members_change() {}
  /// Whether it takes part in every execution. With a ParameterServerStrategy all steps of an epoch are one execution,
  /// and fit refuses such a callback. Default: whether needs() says that its hooks of training batches read anything.
  virtual bool needs_each_execution() const {
    return needs(Hook::train_batch_begin) != Needs::nothing || needs(Hook::train_batch_end) != Needs::nothing;
  }
  /// The model whose loop runs.
  Model& model() const { return *model_; }
  /// The parameters of the loop.
  const CallbackParams& params() const { return params_; }

 private:
  Model* model_ = nullptr;
  CallbackParams params_;
};
using CallbackPtr = std::shared_ptr<Callback>;

}  // namespace etude
