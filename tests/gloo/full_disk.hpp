#pragma once

#include <memory>
#include <string>

#include "etude/base/error.hpp"
#include "etude/base/memory_vfs.hpp"

namespace etude::testing {

/// Files in memory. While `full` is set, no file can be written.
class FullDisk : public MemoryVfs {
 public:
  bool full = false;
  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    check(!full, ErrorKind::io, path, "No space left on device - expected space - delete files.");
    return MemoryVfs::open(path, append);
  }
};

}  // namespace etude::testing
