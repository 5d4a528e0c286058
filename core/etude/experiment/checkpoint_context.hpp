#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/vfs.hpp"
#include "etude/experiment/cluster_info.hpp"
#include "etude/experiment/retention_rules.hpp"
#include "etude/experiment/settings.hpp"

namespace etude::experiment {

/// A stored checkpoint.
struct StoredCheckpoint {
  /// Its name in the storage.
  std::string uuid;
  /// The trial that stored it, and that trial's experiment.
  std::string trial_id = {}, experiment_id = {};
  /// A number that is higher than those of the trial's older checkpoints.
  std::uint64_t serial = 0;
  /// The validation's value by which it is compared; none if there was no validation, or the value is not a number.
  std::optional<double> score = {};
  /// The metadata that the trial stored with it.
  Settings metadata = {};

  /// Whether it is the state of a training, from which fit continues. Others are those that the program made.
  bool is_training() const { return metadata.flag("training", false); }
};

/// The uuids of the checkpoints that the rules keep, in the order of `checkpoints`. Of equal scores the newer one of a
/// trial is better. Throws Error(value) for negative numbers.
std::vector<std::string> kept_checkpoints(const std::vector<StoredCheckpoint>& checkpoints,
                                          const RetentionRules& rules);

/// The checkpoints of all trials in a folder, those of each trial in the order of their age. Throws Error(data) for a
/// checkpoint whose description is damaged.
std::vector<StoredCheckpoint> list_checkpoints(const std::string& folder, const std::shared_ptr<Vfs>& files = {});

/// Removes the checkpoints that the rules do not keep, of all trials in a folder, and returns their uuids: for the
/// program that runs the experiment, when no trial is running.
std::vector<std::string> collect_checkpoints(const std::string& folder, const RetentionRules& rules,
                                             const std::shared_ptr<Vfs>& files = {});
/// The same for trials with folders of their own.
std::vector<std::string> collect_checkpoints(const std::vector<std::string>& folders, const RetentionRules& rules,
                                             const std::shared_ptr<Vfs>& files = {});

class CheckpointContext;

/// A new checkpoint: a folder to write into. It appears in the storage when it is complete: at commit(). Without that,
/// the folder is removed.
class NewCheckpoint {
 public:
  ~NewCheckpoint();
  NewCheckpoint(const NewCheckpoint&) = delete;
  NewCheckpoint& operator=(const NewCheckpoint&) = delete;

  /// The folder, until commit().
  const std::string& path() const { return path_; }
  /// Its name in the storage.
  const std::string& uuid() const { return uuid_; }
  /// Completes the checkpoint. Throws Error(io).
  void commit(std::optional<double> score = {});

 private:
  friend CheckpointContext;
  NewCheckpoint(CheckpointContext& context, Settings metadata);

  CheckpointContext& context_;
  const Settings metadata_;
  const std::string uuid_, path_;
  bool committed_ = false;
};

/// The checkpoints of a trial: Context::checkpoint. Each is a folder with a name of its own, a uuid, and a file
/// metadata.json, which describes it. They appear complete or not at all. Source: determined.core.CheckpointContext.
class CheckpointContext {
 public:
  /// The storage of these checkpoints, for the trial of `info`. Without `is_chief` nothing can be stored.
  CheckpointContext(const ClusterInfo& info, std::shared_ptr<Vfs> files, bool is_chief);

  /// A new checkpoint, with these values beside it. Throws Error(state) in processes other than that of rank 0.
  ///
  ///     auto made = context.checkpoint.store_path({{"steps_completed", 1000}});
  ///     model.save_weights(made.path() + "/weights.safetensors");
  ///     made.commit();
  NewCheckpoint store_path(Settings metadata = {});
  /// The folder of a checkpoint, for reading. Throws Error(value) if there is none of that uuid.
  std::string restore_path(const std::string& uuid) const;
  /// The description of a checkpoint. Throws Error(value) if there is none of that uuid.
  StoredCheckpoint get(const std::string& uuid) const;
  /// Whether there is a checkpoint of that uuid.
  bool contains(const std::string& uuid) const;
  /// Removes a checkpoint. Throws Error(value) if there is none of that uuid.
  void remove(const std::string& uuid);
  /// Sets the score of a checkpoint that was stored before its validation.
  void set_score(const std::string& uuid, std::optional<double> score);
  /// The checkpoints of this trial, oldest first; with a trial's id, those of that trial, and with "" those of all.
  std::vector<StoredCheckpoint> list() const { return list(trial_id_); }
  std::vector<StoredCheckpoint> list(const std::string& trial_id) const;
  /// Removes the checkpoints of this trial that the rules do not keep, except that of the uuid `also`, and returns
  /// their uuids. Those of other trials count for save_experiment_best, and stay.
  std::vector<std::string> collect(const RetentionRules& rules, const std::string& also = {});

  /// The folder of the checkpoints.
  const std::string& folder() const { return folder_; }

 private:
  friend NewCheckpoint;
  void write_description(const std::string& path, const StoredCheckpoint& checkpoint);
  void check_is_chief(const char* method) const;
  std::string unfinished_name() const { return ".tmp-" + trial_id_ + '-'; }

  const std::string folder_, trial_id_, experiment_id_;
  const std::shared_ptr<Vfs> files_;
  const bool is_chief_;
};

}  // namespace etude::experiment
