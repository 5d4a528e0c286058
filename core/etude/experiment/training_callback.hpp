#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "etude/experiment/detail/system_metrics.hpp"
#include "etude/experiment/training_options.hpp"
#include "etude/saving/checkpoint.hpp"
#include "etude/training/callback.hpp"

namespace etude::experiment {

class Context;

/// Trains a model as a trial: reports metrics and progress, stores checkpoints by the context's rules, continues from
/// them with the bits of an uninterrupted training, and ends it when the trial is preempted.
///
///     model.fit(x, y, {.epochs = 10, .callbacks = {std::make_shared<experiment::TrainingCallback>(context)}});
///
/// Context::fit adds it. Do not combine it with BackupAndRestore. steps_completed counts batches across epochs. The
/// names of a validation's metrics are reported without "val_", and with them "epochs", the number of completed epochs.
/// A preempted training throws Preempted, after the running execution or batch of validation. A context trains one fit:
/// a trial that is started again could not determine which of several to continue. With
/// MultiWorkerMirroredStrategy all processes must have it. Source: determined.keras.DeterminedCallback, which stores
/// checkpoints at the end of epochs only.
class TrainingCallback : public Callback {
 public:
  /// The context must outlive it. Throws Error(value) for an unknown checkpoint_policy, and for a
  /// negative system_metrics_interval.
  explicit TrainingCallback(Context& context, TrainingOptions options = {});

  /// Loads the checkpoint. Throws Error(value) if there is none of that uuid, Error(data) for one that holds no state
  /// of a training, Error(state) for a second fit, and with BackupAndRestore.
  void acquire() override;
  /// Throws Error(data) for the checkpoint of another model.
  void on_train_begin(Logs&) override;
  void on_train_end(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override;
  /// Throws Error(value) if the validation lacks the context's metric.
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_test_begin(Logs&) override;
  void on_test_batch_end(std::int64_t batch, Logs&) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;
  PendingPtr take_pending() override { return std::move(pending_); }
  bool runs_last() const override { return true; }
  void release() noexcept override;

 private:
  /// A state that is stored if the training ends before the next one.
  struct Unsaved {
    Checkpoint state;
    std::optional<double> score;
  };

  void load();
  std::int64_t steps() const;
  std::optional<double> score_in(const Logs& validation) const;
  bool wanted(std::optional<double> score);
  void keep(const Logs& logs, std::optional<double> score, bool wanted);
  void store(Checkpoint state, std::optional<double> score);
  [[noreturn]] void end();

  Context& context_;
  const TrainingOptions options_;
  /// The state from which this fit continues, until its first epoch has begun; and whether it is of the same trial.
  std::optional<Checkpoint> loaded_;
  bool continues_ = false;
  /// The checkpoint of this trial from which it continues, or "".
  std::string loaded_uuid_;
  PendingPtr pending_;
  int epoch_ = 0;
  /// The steps before the running execution, and those of the last checkpoint, which has that uuid.
  std::int64_t steps_ = 0, stored_steps_ = -1;
  std::string stored_;
  /// Whether the epoch was stopped before its last step, and whether a step of it has run.
  bool stopped_ = false, stepped_ = false;
  std::optional<Unsaved> unsaved_;
  /// The best metric of all validations.
  std::optional<double> best_;
  SystemMetrics system_;
};

}  // namespace etude::experiment
