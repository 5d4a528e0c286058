#pragma once

#include <vector>

#include "etude/base/integers.hpp"
#include "etude/graph/graph.hpp"

/// Products of tensors, computed by einsum. Both operands have one dtype.
namespace etude::ops {

/// The product over a's last axis and b's last but one, or b's only one. If one of them is a scalar: a · b.
Value dot(Value a, Value b);
/// The sum of the products of all elements. Throws Error(shape) if they are not as many.
Value vdot(Value a, Value b);
/// The product over the last axes of both. If one of them is a scalar: a · b.
Value inner(Value a, Value b);
/// [size of a, size of b]: the products of all pairs of elements.
Value outer(Value a, Value b);
/// The product over several axes. `axes` is one number n, for the last n axes of a and the first n of b; or two
/// entries, the axes of a and those of b. Throws Error(value) for other axes.
Value tensordot(Value a, Value b, const std::vector<Integers>& axes = {2});

}  // namespace etude::ops
