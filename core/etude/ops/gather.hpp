#pragma once

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// The rows of x [n, ..] at `indices`, integers [*shape]: [*shape, ..]. An index out of range gives NaN (0 for
/// integers).
Value take(Value x, Value indices);
/// [rows, ..]: row i is the sum of the rows of x [*shape, ..] whose index in `indices` [*shape] is i. Indices out of
/// range are ignored.
Value scatter_add(Value x, Value indices, std::int64_t rows);

}  // namespace etude::ops
