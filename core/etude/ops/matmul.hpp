#pragma once

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// a [.., m, k] · b [.., k, n] -> [.., m, n]. The leading axes broadcast by NumPy's rule. If b is one matrix, a's
/// leading axes are rows like m.
Value matmul(Value a, Value b);
/// The product of matrices, each of which may be stored transposed: op(a) [.., m, k] · op(b) [.., k, n].
Value matmul(Value a, Value b, bool transpose_a, bool transpose_b);

}  // namespace etude::ops
