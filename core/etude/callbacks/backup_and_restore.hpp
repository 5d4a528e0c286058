#pragma once

#include <memory>
#include <optional>
#include <string>

#include "etude/base/detail/termination.hpp"
#include "etude/base/messages.hpp"
#include "etude/callbacks/save_frequency.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/detail/training_state.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct BackupAndRestoreOptions {
  /// A folder for this training only.
  std::string backup_dir = {};
  SaveFrequency save_freq = "epoch";
  /// Keeps the previous checkpoint too, in case the last one cannot be read.
  bool double_checkpoint = false;
  /// Whether the backup is deleted when fit is complete.
  bool delete_checkpoint = true;
  /// Whether SIGTERM saves: see BackupAndRestore. Not in WebAssembly, which has no signals.
  bool save_before_preemption = false;
  /// The files that hold the folder; host().files if null.
  std::shared_ptr<Vfs> files = {};
  /// The receiver of warnings; stderr if empty.
  TextSink warn = {};
  /// Detects a request to end, with save_before_preemption; host().watch_termination if empty.
  WatchTermination termination = {};

  template <class O = BackupAndRestoreOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::backup_dir>("Folder of the checkpoints. One fit at a time may use it.", Need::required),
        option<&O::save_freq>("\"epoch\", or a number of batches between checkpoints."),
        option<&O::double_checkpoint>("Whether the checkpoint before the last one is kept too."),
        option<&O::delete_checkpoint>("Whether the checkpoints are deleted when training is complete."),
        option<&O::save_before_preemption>(
            "Whether SIGTERM ends training after the step, with a checkpoint. Only on systems with signals."));
  }
};

/// Saves the complete state of fit. If fit is interrupted for any reason and the same program starts it again, fit
/// continues from the last checkpoint and ends with the same bits as an uninterrupted one: weights, optimizer, logs and
/// history (C-11).
///
/// With save_freq = "epoch", fit continues at the beginning of an epoch; with a number, at the batch after the last
/// saved one. A stop by stop_training also completes fit. With delete_checkpoint = false the next fit continues after
/// that batch, unless EarlyStopping stopped training. A state with weights or a loss that are not finite is not saved.
///
/// Data returns to its saved position. A generator must be created again and yield the same batches: those consumed
/// before are requested again and skipped. A Sequence must restore changes of its on_epoch_end itself. Custom callbacks
/// must implement state() and restore() if they have state.
///
/// Checkpoints are written while training continues; an error of a write is reported at the next one, or at the end.
///
/// With MultiWorkerMirroredStrategy, all processes must have it. Rank 0 uses the folder, and all processes continue
/// from its checkpoint. A SIGTERM to one of them ends all after the same execution.
///
/// With save_before_preemption, a SIGTERM takes effect after the running execution, or batch of validation: the state
/// is saved, other callbacks close their files, and the process exits with status 143 from within fit. Started again,
/// fit loses no steps. A SIGTERM a second or more later exits at once; the previous checkpoint stays. If saving
/// fails, fit throws instead. Source: keras/src/callbacks/backup_and_restore.py, which saves weights, optimizer and
/// epoch; save_before_preemption in keras/callbacks.py (2.12).
class BackupAndRestore : public Callback {
 public:
  using Options = BackupAndRestoreOptions;
  static constexpr ClassText about{.name = "BackupAndRestore",
                                   .text = "Saves checkpoints, from which an interrupted fit continues.",
                                   .example = R"({"backup_dir": "backup"})"};
  /// Throws Error(value) for a missing folder, for the name of another place, such as "localstorage://run", and for
  /// save_before_preemption on systems without signals.
  explicit BackupAndRestore(BackupAndRestoreOptions options);

  /// Throws Error(state) if another training uses the folder; Error(data) if all its checkpoints are damaged. A damaged
  /// checkpoint is skipped in favour of the previous one, with a warning.
  void acquire() override;
  /// Throws Error(data) if the checkpoint is unusable: of another model, or not the state of a training.
  void on_train_begin(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override;
  void on_test_begin(Logs&) override;
  void on_test_batch_end(std::int64_t batch, Logs&) override;
  PendingPtr take_pending() override { return std::move(pending_); }
  CallbackState state() const override;
  void restore(const CallbackState& state) override { saves_.restore(state); }
  void on_members_change() override;
  bool runs_last() const override { return true; }
  bool needs_each_execution() const override { return !saves_.each_epoch() || options_.save_before_preemption; }
  void release() noexcept override;

 private:
  void save(TrainingMoment moment, const Logs& logs);
  void save(const Checkpoint& state);
  bool asked_to_end();
  std::unique_ptr<CheckpointStore> new_store() const;
  std::unique_ptr<CheckpointStore> inherited_store() const;
  void end_process();

  BackupAndRestoreOptions options_;
  SaveCounter saves_;
  /// Null in processes other than the chief.
  std::unique_ptr<CheckpointStore> store_;
  /// The state from which this fit continues, until its first epoch has begun.
  std::optional<Checkpoint> loaded_;
  PendingPtr pending_;
  /// Whether the epoch was stopped before its last step, and whether a step of it has run.
  bool stopped_ = false, stepped_ = false;
  std::unique_ptr<Termination> termination_;
  /// With save_before_preemption: the state before a validation, which changes metrics and the position of its data,
  /// and the state at the end of an epoch, for on_train_end.
  std::optional<Checkpoint> unsaved_;
};

namespace callbacks {

inline constexpr Factory<BackupAndRestore> backup_and_restore;

}  // namespace callbacks
}  // namespace etude
