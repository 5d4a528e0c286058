#pragma once

#include <functional>
#include <string>

#include "etude/base/tensor.hpp"

namespace etude {

/// A tensor of a file, or for a file, whose elements are not in memory.
struct StoredTensor {
  std::string name;
  Shape shape;
  DType dtype;
  /// Makes the tensor. It can be called again.
  std::function<Tensor()> read;
};

}  // namespace etude
