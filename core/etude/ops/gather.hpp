#pragma once

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// The rows of x [n, ..] whose numbers are in `indices`, integers [*shape]: [*shape, ..]. NaN for a row that x does not
/// have (0 of integers).
Value take(Value x, Value indices);
/// [rows, ..], in which row i is the sum of the rows of x [*shape, ..] that `indices` [*shape] calls i; numbers out of
/// range count nowhere.
Value scatter_add(Value x, Value indices, std::int64_t rows);

}  // namespace etude::ops
