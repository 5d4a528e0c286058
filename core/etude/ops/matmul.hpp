#pragma once

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// a [.., m, k] · b [.., k, n] -> [.., m, n]; the leading axes broadcast by NumPy's rule. Of one matrix b they are rows
/// like m.
Value matmul(Value a, Value b);
/// The product of matrices, either of which may be stored transposed: op(a) [.., m, k] · op(b) [.., k, n].
Value matmul(Value a, Value b, bool transpose_a, bool transpose_b);

}  // namespace etude::ops
