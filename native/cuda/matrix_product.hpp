#pragma once

#include <cstddef>
#include <cstdint>

#include "etude/base/dtype.hpp"

namespace etude::cuda {

/// c [m, n] = op(a) [m, k] · op(b) [k, n], `count` times. Stored rows are `distance` elements apart, and matrices
/// `stride` apart; op transposes a matrix that is `transposed`. All three are stored as `dtype`; half precision is
/// summed in float32. A bias [n] of the same dtype is added to each row.
struct MatrixProduct {
  struct Matrix {
    std::byte* data;
    std::int64_t distance;
    bool transposed;
    std::int64_t stride;
  };
  DType dtype;
  std::int64_t m, n, k, count;
  Matrix a, b, c;        ///< c is never transposed
  std::byte* workspace;  ///< of the size that the runtime requests
  const std::byte* bias = nullptr;
};

}  // namespace etude::cuda
