#pragma once

#include <cstddef>
#include <cstdint>

#include "etude/base/dtype.hpp"

namespace etude::cuda {

/// c [m, n] = op(a) [m, k] · op(b) [k, n], `count` times. Stored rows are `distance` elements apart, one matrix and the
/// next `stride`; op transposes what is `transposed`. All three are stored as `dtype`; half precision is added up in
/// float32. A bias [n], of that dtype too, is added to each row.
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
  std::byte* workspace;  ///< as large as the runtime wishes
  const std::byte* bias = nullptr;
};

}  // namespace etude::cuda
