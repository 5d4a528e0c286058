#pragma once

#include <cstdint>

#include "cuda/divisor.hpp"

namespace etude::cuda {

/// The offsets of the entries of some axes, by their number; the last axis is the innermost.
struct BatchAxes {
  static constexpr int most = 8;
  int count = 0;
  Divisor extents[most];
  std::int64_t strides[most];

  ETUDE_DEVICE std::int64_t offset(std::int64_t index) const {
    std::int64_t result = 0;
    for (int axis = count - 1; axis >= 0; --axis) result += extents[axis].divide(index) * strides[axis];
    return result;
  }
};

}  // namespace etude::cuda
