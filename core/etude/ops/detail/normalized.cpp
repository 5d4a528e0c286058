#include "etude/ops/detail/normalized.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::ops {

Value normalized(Value x, const std::vector<std::ptrdiff_t>& axes, double epsilon) {
  const Value wide = upcast(x), squares = sum(square(wide), axes, true);
  return cast(wide * (1 / sqrt(maximum(squares, scalar(epsilon * epsilon, squares)))), x.dtype());
}

}  // namespace etude::ops
