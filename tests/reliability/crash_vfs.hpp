#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/memory_vfs.hpp"
#include "etude/base/random.hpp"

namespace etude::testing {

/// What a disk holds: files and folders by number, names in folders. Number 0 is the root.
struct Disk {
  struct Node {
    bool folder = false;
    std::string bytes = {};
    std::map<std::string, int> names = {};
  };
  std::map<int, Node> nodes{{0, {.folder = true}}};

  /// The number behind a path; -1 if there is none.
  int find(const std::string& path) const;
  /// All that can be reached by names.
  std::shared_ptr<MemoryVfs> files() const;
};

/// One thing done to a disk. What stands in a folder lasts when the folder was synced after it, what stands in a file
/// when the file was; until then it may be there after a loss of power, or not.
struct DiskOperation {
  enum class Kind { name, rename, remove, truncate, write, sync, mark };
  Kind kind = Kind::mark;
  /// The folder whose names change, or the file that is written, or what is synced.
  int node = 0;
  /// name: what the name leads to; mark: what was reached.
  int target = 0;
  bool folder = false;
  std::string name = {}, to = {};
  std::size_t offset = 0;
  std::string bytes = {};
};

/// What becomes of the operations that no sync has made last.
enum class PowerLoss {
  none,        // the process ends, the system goes on
  all,         // dropped
  torn,        // of each write, some sectors of 512 bytes
  names_only,  // names last, bytes do not
  zeros,       // names and lengths last, bytes are zeros
  bytes_only,  // bytes last, names do not
  some,        // each lasts, or is torn, or does not, by chance: later ones without earlier ones
};

/// Files in memory that record all operations, so that a loss of power can be simulated at every point.
class CrashVfs : public MemoryVfs {
 public:
  /// With `forgetful`, syncs do nothing: a disk that lies.
  explicit CrashVfs(bool forgetful = false) : forgetful_(forgetful) {}

  std::unique_ptr<FileSink> open(const std::string& path, bool append) override;
  void sync_folder(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void make_folder(const std::string& path) override;

  /// Notes that what was promised up to here is to last from here on.
  void mark(int reached) { record({.kind = DiskOperation::Kind::mark, .target = reached}); }
  std::size_t operations() const { return operations_.size(); }
  /// The last mark among the first `count` operations; 0 if there is none.
  int marked(std::size_t count) const;
  /// What is left when power is lost after `count` operations.
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
