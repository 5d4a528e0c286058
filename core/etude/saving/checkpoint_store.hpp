#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/messages.hpp"
#include "etude/base/vfs.hpp"
#include "etude/saving/async_writer.hpp"
#include "etude/saving/checkpoint.hpp"

namespace etude {

/// What a CheckpointStore keeps, and where.
struct CheckpointStoreOptions {
  /// How many stay: the newest, and besides them those with the best scores.
  int keep_newest = 2, keep_best = 0;
  /// Whether a score is better when it is higher.
  bool higher_is_better = false;
  /// Where the folder is; in host().files if null.
  std::shared_ptr<Vfs> files = {};
  /// Where warnings go; stderr if empty.
  TextSink warn = {};
};

/// Checkpoints in a folder, each in a folder of its own, ckpt-00001200, that appears whole or not at all:
///
///     ckpt-00001200/model.safetensors, state.json, …, manifest.json      LATEST      LOCK
///
/// It is made under a name that begins with .tmp-, all its bytes are brought to the disk, and then it is renamed.
/// Loading compares every byte's checksum with the manifest, takes the newest that is whole, and warns of those
/// that are not. LATEST, which names the newest, is for people: loading does not rely on it.
///
/// One store at a time works in a folder: it holds LOCK. What a program that ended in the middle has left is removed by
/// the next save.
class CheckpointStore {
 public:
  /// Makes the folder. Throws Error(state) if another store, of this process or another, works in it; Error(io);
  /// Error(data) if it holds a checkpoint of a newer format; Error(value) for less than none to keep.
  explicit CheckpointStore(std::string folder, CheckpointStoreOptions options = {});
  /// Waits for the save in the background, and warns if it failed.
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  /// Saves, and returns the checkpoint's folder when it would outlive a loss of power and was read back whole. Then
  /// those that need not stay are removed. If anything fails, those before are as they were, and what was thrown says
  /// why.
  std::string save(const Checkpoint& checkpoint);
  /// The same in the background: the caller pays for one copy of the tensors, whose memory is kept for the next, and
  /// may change them as soon as this returns. Waits for the save before; what that one threw is thrown here.
  void save_later(const Checkpoint& checkpoint);
  /// Returns when nothing is being saved. Throws what the save in the background threw.
  void wait() { writer_.wait(); }

  /// Waits, and removes all checkpoints, and the folder if nothing else is in it. Nothing can be saved afterwards.
  void clear();

  /// The newest checkpoint that is whole; none if there is none at all. Throws Error(data) if all are damaged.
  std::optional<Checkpoint> load_newest();
  /// The folders of the checkpoints whose manifest can be read, newest first.
  std::vector<std::string> list();

 private:
  struct Entry {
    std::string name;
    std::int64_t step = 0;
    std::uint64_t serial = 0;
    std::optional<double> score = {};
  };

  std::string write(const Checkpoint& checkpoint);
  std::string free_name(std::int64_t step) const;
  void write_files(const std::string& into, const Checkpoint& checkpoint, std::uint64_t serial);
  void sweep();
  void remove_what_need_not_stay();
  void remove(const std::vector<std::string>& names);
  std::vector<std::string> best() const;
  void warn_of(const char* reason) const noexcept;
  std::string path_of(const std::string& name) const { return folder_ + '/' + name; }

  const std::string folder_;
  const CheckpointStoreOptions options_;
  const std::shared_ptr<Vfs> files_;
  std::unique_ptr<FileLock> lock_;
  /// Oldest first.
  std::vector<Entry> entries_;
  /// What is being saved in the background.
  Checkpoint snapshot_;
  AsyncWriter writer_;  // last: its thread uses all of the above
};

/// The newest checkpoint in a folder that is whole, for readers, which hold no lock; none if there is none, or
/// no such folder. Warns of those that are damaged; throws Error(data) if all are, or one is of a newer format.
std::optional<Checkpoint> load_newest_checkpoint(const std::string& folder, const std::shared_ptr<Vfs>& files = {},
                                                 const TextSink& warn = {});
/// A checkpoint's own folder. Throws Error(data) or Error(io) naming the file that is damaged or missing.
Checkpoint load_checkpoint(const std::string& folder, const std::shared_ptr<Vfs>& files = {});

}  // namespace etude
