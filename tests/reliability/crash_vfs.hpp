#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/memory_vfs.hpp"
#include "etude/base/random.hpp"

namespace etude::testing {

/// The contents of a disk: files and folders by number, names in folders. Number 0 is the root.
struct Disk {
  struct Node {
    bool folder = false;
    std::string bytes = {};
    std::map<std::string, int> names = {};
  };
  std::map<int, Node> nodes{{0, {.folder = true}}};

  /// The number of a path; -1 if there is none.
  int find(const std::string& path) const;
  /// All files and folders that names lead to.
  std::shared_ptr<MemoryVfs> files() const;
};

/// An operation on a disk. Names in a folder are durable after the folder is synced, contents of a file after the file
/// is; until then they may or may not survive a loss of power.
struct DiskOperation {
  enum class Kind { name, rename, remove, truncate, write, sync, mark };
  Kind kind = Kind::mark;
  /// The folder with changed names, the written file, or the synced file or folder.
  int node = 0;
  /// name: the target of the name; mark: the number that was reached.
  int target = 0;
  bool folder = false;
  std::string name = {}, to = {};
  std::size_t offset = 0;
  std::string bytes = {};
};

/// The fate of operations before a sync.
enum class PowerLoss {
  none,        // the process ends, the system continues
  all,         // dropped
  torn,        // of each write, some sectors of 512 bytes
  names_only,  // names survive, bytes do not
  zeros,       // names and lengths survive, bytes are zeros
  bytes_only,  // bytes survive, names do not
  some,        // each survives, is torn, or is lost, at random: later ones without earlier ones
};

/// Files in memory that record all operations, so that a loss of power can be simulated at every point.
class CrashVfs : public MemoryVfs {
 public:
  /// With `forgetful`, syncs have no effect: a faulty disk.
  explicit CrashVfs(bool forgetful = false) : forgetful_(forgetful) {}

  std::unique_ptr<FileSink> open(const std::string& path, bool append) override;
  void sync_folder(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void make_folder(const std::string& path) override;

  /// Marks that all promises up to here must be durable from here on.
  void mark(int reached) { record({.kind = DiskOperation::Kind::mark, .target = reached}); }
  std::size_t operations() const { return operations_.size(); }
  /// The last mark among the first `count` operations; 0 if there is none.
  int marked(std::size_t count) const;
  /// The disk after a loss of power after `count` operations.
  std::shared_ptr<MemoryVfs> after(std::size_t count, PowerLoss loss, Random& random) const;

 private:
  class File;
  void record(DiskOperation operation);
  bool lasts(std::size_t index, std::size_t count) const;
  int add_name(const std::string& path, bool folder);

  const bool forgetful_;
  Disk disk_;
  int last_node_ = 0;
  std::vector<DiskOperation> operations_;
};

}  // namespace etude::testing
