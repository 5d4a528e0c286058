#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "etude/base/vfs.hpp"

namespace etude::cuda {

/// Files that can be made again at any time, in one folder. Each holds a body for a header. Files that are damaged, or
/// cannot be read or written, are ignored.
class CacheFolder {
 public:
  /// The folder is created on demand; an empty name is no folder. Files are named by a hash of their header, and
  /// `ending`. If there are more than `most_files` when a process writes its first one, all are removed.
  CacheFolder(std::shared_ptr<Vfs> files, std::string folder, std::string ending, std::size_t most_files);

  /// Whether there is a folder.
  bool exists() const { return files_ != nullptr; }
  /// The body for a header without NUL bytes, if there is one.
  std::optional<std::string> read(std::string_view header) const;
  /// Writes the body for a header: other processes see its previous contents, or all of it.
  void write(std::string_view header, std::string_view body);

 private:
  std::string path_of(std::string_view header) const;
  void limit();

  std::shared_ptr<Vfs> files_;
  std::string folder_, ending_;
  std::size_t most_files_;
  std::once_flag limited_;
};

/// A folder of the user's: `name` in the folder of the environment variable ETUDE_CACHE, else in "etude" of
/// XDG_CACHE_HOME or of ~/.cache. Empty, for no folder, if ETUDE_CACHE is empty or none of them is set.
std::string cache_folder(const std::string& name);

}  // namespace etude::cuda
