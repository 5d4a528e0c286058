#pragma once

#include <vector>

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// x divided by its length, sqrt(sum(x²)), along axes; a length below epsilon counts as epsilon. Source: normalize in
/// keras/src/ops/nn.py.
Value normalized(Value x, const std::vector<std::ptrdiff_t>& axes, double epsilon);

}  // namespace etude::ops
