#pragma once

#include <map>
#include <mutex>

#include "etude/base/vfs.hpp"

namespace etude {

/// Files in memory, with the lifetime of this object: for tests, and for pages, which have no other files.
class MemoryVfs : public Vfs {
 public:
  MemoryVfs();
  /// A copy of all files and folders, without the locks.
  MemoryVfs(const MemoryVfs& other);
  MemoryVfs& operator=(const MemoryVfs&) = delete;

  std::vector<std::byte> read(const std::string& path) override;
  std::uint64_t size(const std::string& path) override;
  std::unique_ptr<FileSource> source(const std::string& path) override;
  std::unique_ptr<FileSink> open(const std::string& path, bool append) override;
  void sync_folder(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  void make_folder(const std::string& path) override;
  PathKind kind(const std::string& path) override;
  std::unique_ptr<FileLock> lock(const std::string& path) override;

 private:
  class File;
  class Source;
  class Lock;
  struct Locked;
  /// A file's bytes, shared with its writers; null for a folder.
  using Content = std::shared_ptr<std::string>;

  PathKind kind_of(const std::string& path) const;
  /// The file's bytes; throws Error(io) as the system would if it does not exist.
  const Content& content(const std::string& path, std::string_view what) const;
  /// Throws the system's error if the folder does not exist, for the operation `what` at `path`.
  void require_folder(const std::string& folder, const std::string& path, std::string_view what) const;
  /// Whether a folder is not empty.
  bool inhabited(const std::string& folder) const;

  mutable std::mutex mutex_;
  /// By normalised path.
  std::map<std::string, Content> entries_;
  std::shared_ptr<Locked> locked_;
};

}  // namespace etude
