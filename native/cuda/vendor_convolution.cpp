#include "cuda/vendor_convolution.hpp"

#include <limits>

namespace etude::cuda {

bool vendor_may_convolve(const instruction::ConvolutionShape& s, DType dtype) {
  if (dtype == DType::float64 || s.batch * s.rows * s.columns * s.filters * s.channels == 0) return false;
  for (const std::size_t axis : {0u, 1u}) {
    const std::int64_t in = axis == 0 ? s.height : s.width, out = axis == 0 ? s.rows : s.columns;
    const std::int64_t room = in + 2 * s.window.before[axis] - s.window.span(axis);
    if (room < 0 || room / s.window.strides[axis] + 1 != out) return false;
  }
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return s.batch * s.height * s.width * s.channels <= most && s.batch * s.rows * s.columns * s.filters <= most &&
         s.window.cells() * s.channels / s.groups * s.filters <= most;
}

}  // namespace etude::cuda
