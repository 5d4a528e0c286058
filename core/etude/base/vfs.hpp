#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/file_source.hpp"

namespace etude {

/// A file that is written by appending. The destructor closes it.
class FileSink {
 public:
  virtual ~FileSink() = default;
  /// Whether it was empty when it was opened.
  virtual bool empty() const = 0;
  /// Appends bytes.
  virtual void append(std::string_view bytes) = 0;
  /// Overwrites appended bytes, from byte `at` on. For a file that a Vfs opened without `append`; others throw
  /// Error(io).
  virtual void overwrite(std::uint64_t at, std::string_view bytes);
  /// Makes the appended bytes visible to others.
  virtual void flush() = 0;
  /// Returns when the appended bytes are safe from a loss of power. A host that cannot guarantee that only flushes.
  virtual void sync() { flush(); }
};

/// A lock that is held until this object is destroyed, or its process ends.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

/// A link is a file: its target is never removed.
enum class PathKind { none, file, folder };

/// The project's interface to files: those of the system, of Node.js, in memory, or of a test that makes them fail.
/// Every call throws Error(io) with the host's reason if the host refuses it. Several threads may call it, each for its
/// own files.
class Vfs {
 public:
  virtual ~Vfs() = default;

  /// All bytes of a file.
  virtual std::vector<std::byte> read(const std::string& path) = 0;
  /// The size of a file, in bytes.
  virtual std::uint64_t size(const std::string& path) = 0;
  /// Opens a file for reading at any place. The default reads all of it. The Vfs must outlive it.
  virtual std::unique_ptr<FileSource> source(const std::string& path);
  /// Opens a file for writing. Its contents are kept only if `append`. Its folder must exist.
  virtual std::unique_ptr<FileSink> open(const std::string& path, bool append) = 0;
  /// Returns when the current names in a folder are safe from a loss of power.
  virtual void sync_folder(const std::string& path) = 0;
  /// Atomic: others see either name, never both or none. Replaces a file of the new name.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file, or an empty folder.
  virtual void remove(const std::string& path) = 0;
  /// The names in a folder, in alphabetical order.
  virtual std::vector<std::string> list(const std::string& folder) = 0;
  /// Makes one folder, unless the folder or a link to one exists.
  virtual void make_folder(const std::string& path) = 0;
  /// The kind of entry at a path.
  virtual PathKind kind(const std::string& path) = 0;
  /// The same, where a link to a folder is a folder.
  PathKind kind_through_links(const std::string& path) {
    const PathKind own = kind(path);
    return own == PathKind::file && kind(path + "/.") == PathKind::folder ? PathKind::folder : own;
  }
  /// Creates a file and locks it. Throws Error(state) at once if the lock is held elsewhere.
  virtual std::unique_ptr<FileLock> lock(const std::string& path) = 0;

  /// Whether there is a file or a folder at a path.
  bool exists(const std::string& path) { return kind(path) != PathKind::none; }
  /// Makes a folder and its parent folders. With `sync`, they are safe from a loss of power.
  void make_folders(const std::string& path, bool sync = false);
  /// Removes a file, or a folder with its contents, if it exists.
  void remove_tree(const std::string& path);
  /// The same, ignoring errors: cleans up after a failure.
  void discard(const std::string& path) noexcept;
  /// Writes `pieces` to a file so that readers, even after a loss of power, find its previous contents or all pieces.
  void replace(const std::string& path, const std::vector<std::string_view>& pieces);
};

/// A file that gets its name when it is complete: until then, even after a loss of power, readers find the previous
/// file of that name. Without commit(), all that was written is removed. `files` must outlive it.
class FileReplacement {
 public:
  /// Opens the file under a temporary name, `path`.tmp. Throws Error(io).
  FileReplacement(Vfs& files, const std::string& path);
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  /// The file, until commit().
  FileSink& file() { return *file_; }
  /// Completes the file and gives it its name. Throws Error(io). Then nothing is left of the file, unless it has its
  /// name already and only the folder could not be synchronized.
  void commit();

 private:
  Vfs& files_;
  const std::string path_;
  std::unique_ptr<FileSink> file_;
  bool renamed_ = false;
};

/// The folder of a path; "." for a name alone.
std::string parent_of(const std::string& path);

/// The path for the system, which ends paths at a NUL byte. Throws as fail_at_path does for a path that contains one.
const char* system_path(const std::string& path, std::string_view what);

/// Throws the error of a file operation: `what` is "read", "written", "opened", …; `reason` is the host's.
[[noreturn]] void fail_at_path(const std::string& path, std::string_view what, std::string_view reason);

}  // namespace etude
