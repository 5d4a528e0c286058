#pragma once

#include <memory>

#include "etude/base/host.hpp"
#include "etude/base/memory_vfs.hpp"

namespace etude::testing {

/// Replaces the host's files by files in memory during its lifetime.
class FilesInMemory {
 public:
  FilesInMemory() : before_(host().files) { host().files = files; }
  ~FilesInMemory() { host().files = before_; }
  FilesInMemory(const FilesInMemory&) = delete;
  FilesInMemory& operator=(const FilesInMemory&) = delete;

  const std::shared_ptr<MemoryVfs> files = std::make_shared<MemoryVfs>();

 private:
  std::shared_ptr<Vfs> before_;
};

}  // namespace etude::testing
