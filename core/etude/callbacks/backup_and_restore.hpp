#pragma once

#include <memory>
#include <optional>
#include <string>

#include "etude/base/messages.hpp"
#include "etude/base/termination.hpp"
#include "etude/callbacks/save_frequency.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/training_state.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct BackupAndRestoreOptions {
  /// A folder for this training alone.
  std::string backup_dir = {};
  SaveFrequency save_freq = "epoch";
  /// Keeps the state before the last one too, in case that cannot be read some day.
  bool double_checkpoint = false;
  /// Whether the backup goes when fit has come to its end.
  bool delete_checkpoint = true;
  /// Whether SIGTERM saves: see BackupAndRestore. Not in WebAssembly, which has no signals.
  bool save_before_preemption = false;
  /// Where the folder is; in host().files if null.
  std::shared_ptr<Vfs> files = {};
  /// Where warnings go; stderr if empty.
  TextSink warn = {};
  /// How a request to end is noticed with save_before_preemption; host().watch_termination if empty.
  WatchTermination termination = {};

  static constexpr auto fields() {
    return option_rows(
        option<&BackupAndRestoreOptions::backup_dir>("Folder of the checkpoints. One fit at a time may use it.",
                                                     Need::required),
        option<&BackupAndRestoreOptions::save_freq>("\"epoch\", or a number of batches between checkpoints."),
        option<&BackupAndRestoreOptions::double_checkpoint>("Whether the checkpoint before the last one is kept too."),
        option<&BackupAndRestoreOptions::delete_checkpoint>(
            "Whether the checkpoints are deleted when training ends as planned."),
        option<&BackupAndRestoreOptions::save_before_preemption>(
            "Whether SIGTERM ends training after the step, with a checkpoint. Only where there are signals."));
  }
};

/// Saves all that fit needs to go on; a fit that was interrupted, by whatever, and is started again by the same program
/// goes on where it stood, and ends with the same bits as one that was not: weights, optimizer, logs and history
/// (C-11).
///
/// With save_freq = "epoch" it goes on at the epoch's beginning, with a number at the batch after the last that was
/// saved. Being stopped by stop_training is an end as well; with delete_checkpoint = false the next fit goes on after
/// that batch, unless it was EarlyStopping that stopped. A state whose weights or loss are not finite is not saved.
///
/// Data is gone back to. A generator is asked once more for the batches that were taken, which are passed over: it has
/// to be made anew, and to give the same ones. What a Sequence changes in on_epoch_end it has to put right by itself,
/// and so has a callback of your own what it remembers, by state() and restore().
///
/// Saving goes on beside training; a save that failed is reported by the next, or at the end.
///
/// With save_before_preemption a SIGTERM lets the running execution, or batch of validation, end; its state is saved,
/// other callbacks close their files, and the process exits with status 143, from within fit. Started again it loses
/// nothing. A second SIGTERM exits at once: the checkpoint before stays. Where saving fails, fit throws instead.
/// Source: keras/src/callbacks/backup_and_restore.py, which saves weights, optimizer and epoch; save_before_preemption
/// in keras/callbacks.py (2.12).
class BackupAndRestore : public Callback {
 public:
  using Options = BackupAndRestoreOptions;
  static constexpr ClassText about{.name = "BackupAndRestore",
                                   .text = "Saves checkpoints, from which an interrupted fit goes on.",
                                   .example = R"({"backup_dir": "backup"})"};
  /// Throws Error(value) without a folder, for the name of another place, such as "localstorage://run", and for
  /// save_before_preemption where there are no signals.
  explicit BackupAndRestore(BackupAndRestoreOptions options);

  /// Throws Error(state) if another training works in the folder; Error(data) if all that is there is damaged. A state
  /// that is damaged is passed over for the one before, with a warning.
  void acquire() override;
  /// Throws Error(data) if what is there cannot be used: of another model, or no state of a training.
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
  bool runs_last() const override { return true; }
  void release() noexcept override;

 private:
  void save(TrainingMoment moment, const Logs& logs);
  void save(const Checkpoint& state);
  bool asked_to_end() const { return termination_ && termination_->requested(); }
  void end_process();

  BackupAndRestoreOptions options_;
  SaveCounter saves_;
  std::unique_ptr<CheckpointStore> store_;
  /// What this fit goes on from, until its first epoch has begun.
  std::optional<Checkpoint> loaded_;
  PendingPtr pending_;
  /// Whether the epoch was left before its last step, and whether a step of it has run.
  bool stopped_ = false, stepped_ = false;
  std::unique_ptr<Termination> termination_;
  /// With save_before_preemption: the state before a validation, which changes metrics and where its data stands, and
  /// at the end of an epoch, for on_train_end.
  std::optional<Checkpoint> unsaved_;
};

namespace callbacks {

inline constexpr Factory<BackupAndRestore> backup_and_restore;

}  // namespace callbacks
}  // namespace etude
