#pragma once

#include <cstdint>

#include "cuda/thread.hpp"

namespace etude::cuda {

/// Where the entries of some axes lie, by their number; the last axis is the innermost.
struct BatchAxes {
  static constexpr int most = 8;
  int count = 0;
  std::int64_t extents[most], strides[most];

  ETUDE_DEVICE std::int64_t offset(std::int64_t index) const {
    std::int64_t result = 0;
    for (int axis = count - 1; axis >= 0; --axis) {
      result += index % extents[axis] * strides[axis];
      index /= extents[axis];
    }
    return result;
  }
};

}  // namespace etude::cuda
