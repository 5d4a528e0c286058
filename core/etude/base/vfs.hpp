#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace etude {

/// A file that grows. It is closed when this is destroyed.
class FileSink {
 public:
  virtual ~FileSink() = default;
  /// Whether there was nothing in it when it was opened.
  virtual bool empty() const = 0;
  /// Writes bytes behind what is there.
  virtual void append(std::string_view bytes) = 0;
  /// Writes over bytes that were appended, from byte `at` on; of a file that a Vfs opened, and not to append. Others
  /// throw Error(io).
  virtual void overwrite(std::uint64_t at, std::string_view bytes);
  /// Shows others what was appended so far.
  virtual void flush() = 0;
  /// Returns when what was appended so far would outlive a loss of power; where a host cannot promise that, it flushes.
  virtual void sync() { flush(); }
};

/// A lock that is held until this is destroyed, or its process ends in whatever way.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// A link is a file: its target is never removed.
enum class PathKind { none, file, folder };

/// All that the project does to files: those of the system, of Node.js, in memory, or of a test that makes them fail.
/// Every call throws Error(io) with the host's reason where the host refuses. May be called from several threads, each
/// with files of its own.
class Vfs {
 public:
  virtual ~Vfs() = default;

  /// All bytes of a file.
  virtual std::vector<std::byte> read(const std::string& path) = 0;
  /// How many bytes a file has.
  virtual std::uint64_t size(const std::string& path) = 0;
  /// Opens a file for writing. What it held before stays only if `append`. Its folder must be there.
  virtual std::unique_ptr<FileSink> open(const std::string& path, bool append) = 0;
  /// Returns when the names in a folder, as they are now, would outlive a loss of power.
  virtual void sync_folder(const std::string& path) = 0;
  /// At once: others see either name, never both or none. Replaces a file of the new name.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file, or a folder that is empty.
  virtual void remove(const std::string& path) = 0;
  /// The names in a folder, in alphabetical order.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  /// Makes one folder, unless there is one, or a link to one.
  virtual void make_folder(const std::string& path) = 0;
  /// What is at a path.
  virtual PathKind kind(const std::string& path) = 0;
  /// Locks a file, which it makes, and throws Error(state) at once if the lock is held elsewhere.
  virtual std::unique_ptr<FileLock> lock(const std::string& path) = 0;

  /// Whether there is a file or a folder at a path.
  bool exists(const std::string& path) { return kind(path) != PathKind::none; }
  /// Makes a folder and those that it lies in. With `sync`, they would outlive a loss of power.
  void make_folders(const std::string& path, bool sync = false);
  /// Removes a file or a folder with all that is in it; nothing if it is not there.
  void remove_tree(const std::string& path);
  /// The same, as well as it goes: for what is left of something that failed.
  void discard(const std::string& path) noexcept;
  /// Writes `pieces` to a file so that readers, after a loss of power too, see what it held before or all of
  /// them.
  void replace(const std::string& path, const std::vector<std::string_view>& pieces);
};

/// The folder that a path lies in; "." for a name alone.
std::string parent_of(const std::string& path);

/// The default file system: the system's; what the host of a WebAssembly module sets; null where there are
/// none, as in a page.
std::shared_ptr<Vfs>& host_vfs();
/// `chosen`, or host_vfs() if that is null; throws Error(io) where both are.
std::shared_ptr<Vfs> vfs_or_host(const std::shared_ptr<Vfs>& chosen, std::string_view where);

/// The path for the system, which ends paths at a NUL byte: throws as fail_at_path does for one that holds one.
const char* system_path(const std::string& path, std::string_view what);

/// All bytes of the file at `path` of host_vfs(); throws Error(io) with the system's reason.
std::vector<std::byte> read_file(const std::string& path);

/// What files throw: `what` is "read", "written", "opened", …; `reason` is the host's.
[[noreturn]] void fail_at_path(const std::string& path, std::string_view what, std::string_view reason);

}  // namespace etude
