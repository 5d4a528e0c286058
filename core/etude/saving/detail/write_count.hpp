#pragma once

#include <cstdint>
#include <utility>

#include "etude/training/save_options.hpp"

namespace etude {

/// Counts the bytes of a model's values that are written, and reports them to a function.
class WriteCount {
 public:
  /// `progress` may be empty.
  explicit WriteCount(SaveProgress progress) : progress_(std::move(progress)) {}
  WriteCount(const WriteCount&) = delete;
  WriteCount& operator=(const WriteCount&) = delete;

  /// Adds bytes that will be written. All are added before the first begin().
  void expect(std::uint64_t bytes) { all_ += bytes; }
  /// All that was added is read twice: for its checksum first.
  void expect_twice() { all_ *= 2; }
  /// Begins to write a value of that many bytes: all before it are written.
  void begin(std::uint64_t bytes) {
    if (done_ > 0) tell();
    done_ += bytes;
  }
  /// All is written.
  void finish() { tell(); }

 private:
  void tell() const {
    if (progress_) progress_(done_, all_);
  }

  const SaveProgress progress_;
  std::uint64_t done_ = 0, all_ = 0;
};

}  // namespace etude
