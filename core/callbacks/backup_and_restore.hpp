#pragma once

#include <memory>
#include <optional>
#include <string>

#include "etude/base/messages.hpp"
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
  /// Where the folder is; in host_vfs() if null.
  std::shared_ptr<Vfs> files = {};
  /// Where warnings go; stderr if empty.
  TextSink warn = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("backup_dir", self.backup_dir);
    visit("save_freq", self.save_freq);
    visit("double_checkpoint", self.double_checkpoint);
    visit("delete_checkpoint", self.delete_checkpoint);
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
/// Saving goes on beside training; a save that failed is reported by the next, or at the end. Source:
/// keras/src/callbacks/backup_and_restore.py, which saves weights, optimizer and epoch.
class BackupAndRestore : public Callback {
 public:
  /// Throws Error(value) without a folder.
  explicit BackupAndRestore(BackupAndRestoreOptions options);

  /// Throws Error(state) if another training works in the folder; Error(data) if what is there cannot be used: of
  /// another model, or no state of a training, or damaged throughout. A state that is damaged is passed over for the
  /// one before, with a warning.
  void on_train_begin(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override;
  PendingPtr take_pending() override { return std::move(pending_); }
  CallbackState state() const override;
  void restore(const CallbackState& state) override { saves_.restore(state); }
  bool runs_last() const override { return true; }
  void release() noexcept override;

 private:
  void save(TrainingMoment moment, const Logs& logs);

  BackupAndRestoreOptions options_;
  SaveCounter saves_;
  std::unique_ptr<CheckpointStore> store_;
  /// What this fit goes on from, until its first epoch has begun.
  std::optional<Checkpoint> loaded_;
  PendingPtr pending_;
  /// Whether the epoch was left before its last step.
  bool stopped_ = false;
};

namespace callbacks {

inline std::shared_ptr<BackupAndRestore> backup_and_restore(BackupAndRestoreOptions options) {
  return std::make_shared<BackupAndRestore>(std::move(options));
}

}  // namespace callbacks
}  // namespace etude
