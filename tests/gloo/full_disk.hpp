#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/memory_vfs.hpp"

namespace etude::testing {

/// Files in memory, on a disk with limited space. Where it ends within a write, the first bytes are written. No space
/// becomes free.
class FullDisk : public MemoryVfs {
 public:
  std::atomic<std::size_t> space = std::numeric_limits<std::size_t>::max();  ///< in bytes

  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    if (space == 0) fail(path);
    return std::make_unique<Sink>(*this, path, MemoryVfs::open(path, append));
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    etude::fail(ErrorKind::io, path, "No space left on device - expected space - delete files.");
  }

  class Sink : public FileSink {
   public:
    Sink(FullDisk& disk, std::string path, std::unique_ptr<FileSink> file)
        : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
    bool empty() const override { return file_->empty(); }
    void append(std::string_view bytes) override {
      const std::string_view fitting = bytes.substr(0, disk_.space);
      file_->append(fitting);
      disk_.space -= fitting.size();
      if (fitting.size() < bytes.size()) fail(path_);
    }
    void overwrite(std::uint64_t at, std::string_view bytes) override { file_->overwrite(at, bytes); }
    void flush() override { file_->flush(); }
    void sync() override { file_->sync(); }

   private:
    FullDisk& disk_;
    std::string path_;
    std::unique_ptr<FileSink> file_;
  };
};

}  // namespace etude::testing
