#pragma once

#include <filesystem>
#include <random>
#include <string>

namespace etude::testing {

/// An empty folder in the system's files, removed with its contents when the test ends.
class ScratchFolder {
 public:
  enum Where { disk, memory };
  /// `memory`: on a file system in memory, if there is one, where syncing costs nothing.
  explicit ScratchFolder(const std::string& name, Where where = disk) {
    const std::filesystem::path shared = "/dev/shm";
    const bool in_memory = where == memory && std::filesystem::exists(shared);
    path_ = (in_memory ? shared : std::filesystem::temp_directory_path()) /
            (name + std::to_string(std::random_device()()) + ".tmp");
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace etude::testing
