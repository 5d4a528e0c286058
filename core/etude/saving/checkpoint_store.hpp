#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/messages.hpp"
#include "etude/base/vfs.hpp"
#include "etude/saving/checkpoint.hpp"
#include "etude/saving/detail/async_writer.hpp"

namespace etude {

struct ComposedFile;
struct StoredGroup;

/// The options of a CheckpointStore.
struct CheckpointStoreOptions {
  /// How many checkpoints stay: the newest, and in addition those with the best scores.
  int keep_newest = 2, keep_best = 0;
  /// Whether a score is better when it is higher.
  bool higher_is_better = false;
  /// The files that hold the folder; host().files if null.
  std::shared_ptr<Vfs> files = {};
  /// The sink of warnings; stderr if empty.
  TextSink warn = {};
};

/// A folder of checkpoints. Each is a folder, such as ckpt-00001200, that appears complete or not at all:
///
///     ckpt-00001200/model.safetensors, state.json, …, manifest.json      LATEST      LOCK
///
/// A checkpoint is written under a name that begins with .tmp-, flushed to the disk, and then renamed. Loading compares
/// the checksums of all bytes with the manifest, picks the newest undamaged checkpoint, and warns about damaged ones.
/// LATEST names the newest for people to read: loading does not rely on it.
///
/// Only one store at a time may use a folder: it holds LOCK. The next save removes the leftovers of an interrupted
/// program.
class CheckpointStore {
 public:
  /// Creates the folder. Throws Error(state) if another store, of this process or another, uses it; Error(io);
  /// Error(data) if it holds a checkpoint of a newer format; Error(value) for negative numbers to keep.
  explicit CheckpointStore(std::string folder, CheckpointStoreOptions options = {});
  /// Waits for the save in the background, and warns if it failed.
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  /// Saves a checkpoint and returns its folder, after the checkpoint is safe from a loss of power and was read back.
  /// Then it removes checkpoints that need not stay. If anything fails it throws, and the earlier checkpoints are
  /// unchanged.
  std::string save(const Checkpoint& checkpoint);
  /// The same with more groups of tensors, which are made one by one.
  std::string save(const Checkpoint& checkpoint, const std::vector<StoredGroup>& groups);
  /// The same in the background. The caller waits only for one copy of the tensors, whose memory is reused for the
  /// next, and may change them after this returns. Waits for the previous save and throws that one's exception.
  void save_later(const Checkpoint& checkpoint);
  /// Returns when no save is running. Throws the exception of the background save.
  void wait() { writer_.wait(); }

  /// Waits, then removes all checkpoints, and the folder if it is then empty. Nothing can be saved afterwards.
  void clear();

  /// The newest undamaged checkpoint; none if there are none. Throws Error(data) if all are damaged.
  std::optional<Checkpoint> load_newest();
  /// The folders of the checkpoints with a readable manifest, newest first.
  std::vector<std::string> list();

 private:
  struct Entry {
    std::string name;
    std::int64_t step = 0;
    std::uint64_t serial = 0;
    std::optional<double> score = {};
    bool damaged = false;  ///< found by load_newest()
  };

  std::string write(const Checkpoint& checkpoint, const std::vector<StoredGroup>& groups);
  std::string free_name(std::int64_t step) const;
  void write_files(const std::string& into, const std::vector<ComposedFile>& files);
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
  /// The checkpoint that is being saved in the background.
  Checkpoint snapshot_;
  AsyncWriter writer_;  // last: its thread uses all of the above
};

/// The newest undamaged checkpoint of a folder, for readers, which hold no lock; none if there is none, or no such
/// folder. Warns about damaged ones; throws Error(data) if all are damaged, or one is of a newer format.
std::optional<Checkpoint> load_newest_checkpoint(const std::string& folder, const std::shared_ptr<Vfs>& files = {},
                                                 const TextSink& warn = {});
/// Loads one checkpoint from its folder. Throws Error(data) or Error(io) naming the file that is damaged or missing.
Checkpoint load_checkpoint(const std::string& folder, const std::shared_ptr<Vfs>& files = {});

}  // namespace etude
