#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "etude/base/task.hpp"
#include "etude/base/vfs.hpp"
#include "etude/graph/variable.hpp"
#include "etude/training/load_weights_options.hpp"

namespace etude {

/// The source of a loader, which reads in steps: files, such as those of a page, may need to wait for their bytes.
class Reading {
 public:
  /// `files` may be null if no step reads a file.
  explicit Reading(std::shared_ptr<Vfs> files, LoadProgress progress = {})
      : files_(std::move(files)), progress_(std::move(progress)) {}

  /// The files.
  const std::shared_ptr<Vfs>& files() const { return files_; }
  /// Calls `step`, a function that outlives the Task, within a FilesScope of the files. If it throws BytesAwaited, it
  /// is called again when the bytes have arrived. So it must change nothing before it has read all bytes that it needs.
  /// These bytes are released afterwards.
  template <class Step> Task<> run(Step& step) {
    return repeat([](void* each) { (*static_cast<Step*>(each))(); }, &step);
  }
  /// The function that gets the number of bytes of weights that were read. Only the weights that are loaded first are
  /// reported: later calls return an empty function.
  LoadProgress take_progress() { return std::exchange(progress_, nullptr); }

 private:
  Task<> repeat(void (*call)(void* step), void* step);

  const std::shared_ptr<Vfs> files_;
  LoadProgress progress_;
};

/// Counts the bytes of weights that are read.
class ReadCount {
 public:
  /// Takes the function of a loader; `all` is the number of bytes to read.
  ReadCount(Reading& reading, std::uint64_t all) : progress_(reading.take_progress()), all_(all) {}
  /// Reports further bytes to the function.
  void add(std::uint64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, all_);
  }

 private:
  LoadProgress progress_;
  std::uint64_t done_ = 0, all_;
};

/// The bytes of a variable's value.
inline std::uint64_t bytes_of(const Variable& variable) {
  return static_cast<std::uint64_t>(variable.shape().size()) * size_of(variable.dtype());
}

}  // namespace etude
