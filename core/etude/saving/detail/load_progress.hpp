#pragma once

#include <cstdint>

#include "etude/graph/variable.hpp"
#include "etude/training/load_weights_options.hpp"

namespace etude {

/// Sets the function that is told how many bytes of a model's weights were read, on this thread and while the object
/// exists. It is told of the weights that are loaded first, and of nothing after them.
class ProgressScope {
 public:
  /// `progress` may be empty, and must outlive the object.
  explicit ProgressScope(const LoadProgress& progress);
  ~ProgressScope();
  ProgressScope(const ProgressScope&) = delete;
  ProgressScope& operator=(const ProgressScope&) = delete;
};

/// Counts the bytes of weights that are read.
class ReadCount {
 public:
  /// Takes the function of the scope; `all` is the number of bytes to read.
  explicit ReadCount(std::uint64_t all);
  /// Tells the function of further bytes.
  void add(std::uint64_t bytes);

 private:
  const LoadProgress* progress_;
  std::uint64_t done_ = 0, all_;
};

/// The bytes of a variable's value.
inline std::uint64_t bytes_of(const Variable& variable) {
  return static_cast<std::uint64_t>(variable.shape().size()) * size_of(variable.dtype());
}

}  // namespace etude
