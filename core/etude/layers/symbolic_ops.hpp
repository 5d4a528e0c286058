#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "etude/layers/operation.hpp"

/// The ops on SymbolicTensors: each adds an op to a functional model, as symbolic() does. Operands of elementwise ops
/// may be numbers and, as constants, Tensors. Their shapes broadcast.
namespace etude::ops {

/// -x.
SymbolicTensor negate(const SymbolicTensor& x);
/// |x|.
SymbolicTensor absolute(const SymbolicTensor& x);
/// -1, 0 or 1.
SymbolicTensor sign(const SymbolicTensor& x);
/// x².
SymbolicTensor square(const SymbolicTensor& x);
/// The square root of x.
SymbolicTensor sqrt(const SymbolicTensor& x);
/// e to the power of x.
SymbolicTensor exp(const SymbolicTensor& x);
/// The natural logarithm of x.
SymbolicTensor log(const SymbolicTensor& x);
/// log(1 + x).
SymbolicTensor log1p(const SymbolicTensor& x);
/// The sine of x, in radians.
SymbolicTensor sin(const SymbolicTensor& x);
/// The cosine of x, in radians.
SymbolicTensor cos(const SymbolicTensor& x);
/// The angle whose tangent is x, in radians.
SymbolicTensor arctan(const SymbolicTensor& x);
/// The hyperbolic tangent of x.
SymbolicTensor tanh(const SymbolicTensor& x);
/// 1 / (1 + exp(-x)).
SymbolicTensor sigmoid(const SymbolicTensor& x);
/// max(x, 0).
SymbolicTensor relu(const SymbolicTensor& x);
/// log(1 + exp(x)).
SymbolicTensor softplus(const SymbolicTensor& x);
/// The error function of x.
SymbolicTensor erf(const SymbolicTensor& x);
/// The largest integer that is not above x.
SymbolicTensor floor(const SymbolicTensor& x);
/// Whether x is false.
SymbolicTensor logical_not(const SymbolicTensor& x);
/// Whether x is neither infinite nor NaN.
SymbolicTensor is_finite(const SymbolicTensor& x);
/// x, without a gradient.
SymbolicTensor stop_gradient(const SymbolicTensor& x);
/// Softmax over the last axis.
SymbolicTensor softmax(const SymbolicTensor& x);
/// x - log(sum(exp(x))) over the last axis.
SymbolicTensor log_softmax(const SymbolicTensor& x);
/// The int32 index of the largest element along the last axis.
SymbolicTensor argmax(const SymbolicTensor& x);

/// a + b.
SymbolicTensor add(const SymbolicOperand& a, const SymbolicOperand& b);
/// a - b.
SymbolicTensor subtract(const SymbolicOperand& a, const SymbolicOperand& b);
/// a · b.
SymbolicTensor multiply(const SymbolicOperand& a, const SymbolicOperand& b);
/// a / b.
SymbolicTensor divide(const SymbolicOperand& a, const SymbolicOperand& b);
/// a to the power of b.
SymbolicTensor power(const SymbolicOperand& a, const SymbolicOperand& b);
/// The larger of a and b.
SymbolicTensor maximum(const SymbolicOperand& a, const SymbolicOperand& b);
/// The smaller of a and b.
SymbolicTensor minimum(const SymbolicOperand& a, const SymbolicOperand& b);
/// Whether a = b.
SymbolicTensor equal(const SymbolicOperand& a, const SymbolicOperand& b);
/// Whether a < b.
SymbolicTensor less(const SymbolicOperand& a, const SymbolicOperand& b);
/// Whether a <= b.
SymbolicTensor less_equal(const SymbolicOperand& a, const SymbolicOperand& b);
/// Whether a > b.
SymbolicTensor greater(const SymbolicOperand& a, const SymbolicOperand& b);
/// Whether a >= b.
SymbolicTensor greater_equal(const SymbolicOperand& a, const SymbolicOperand& b);
/// Whether both are true.
SymbolicTensor logical_and(const SymbolicOperand& a, const SymbolicOperand& b);
/// Whether one of them is true.
SymbolicTensor logical_or(const SymbolicOperand& a, const SymbolicOperand& b);
/// a / b, and 0 if b is 0.
SymbolicTensor divide_no_nan(const SymbolicOperand& a, const SymbolicOperand& b);
/// a [.., m, k] · b [.., k, n] -> [.., m, n].
SymbolicTensor matmul(const SymbolicOperand& a, const SymbolicOperand& b);

/// a if the condition is true, else b.
SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& a, const SymbolicTensor& b);
/// x limited to [low, high].
SymbolicTensor clip(const SymbolicTensor& x, double low, double high);
/// x in another element type.
SymbolicTensor cast(const SymbolicTensor& x, DType dtype);
/// Products of the elements of a and b, summed over the axes that the result does not have.
SymbolicTensor einsum(std::string_view equation, const SymbolicTensor& a, const SymbolicTensor& b);
/// The rows of x [n, ..] at `indices`, integers [*shape]: [*shape, ..].
SymbolicTensor take(const SymbolicTensor& x, const SymbolicTensor& indices);
/// The rows of a constant [n, ..] at `indices`.
SymbolicTensor take(const Tensor& x, const SymbolicTensor& indices);
/// The sum over `axes`, or over all axes. They are removed unless keepdims.
SymbolicTensor sum(const SymbolicTensor& x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The mean over `axes`.
SymbolicTensor mean(const SymbolicTensor& x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The maximum over `axes`.
SymbolicTensor max(const SymbolicTensor& x, const std::vector<std::ptrdiff_t>& axes = {}, bool keepdims = false);
/// The sums of x along `axis`, from its first entry up to each one.
SymbolicTensor cumsum(const SymbolicTensor& x, std::ptrdiff_t axis, bool exclusive = false, bool reverse = false);
/// Labels [..] -> [.., depth] of `dtype`.
SymbolicTensor one_hot(const SymbolicTensor& labels, std::int64_t depth, DType dtype = floatx());
/// x broadcast to `shape`.
SymbolicTensor broadcast_to(const SymbolicTensor& x, const Shape& shape);
/// The same elements in another shape. One extent may be -1, and is computed: that of the batch.
SymbolicTensor reshape(const SymbolicTensor& x, const Shape& shape);
/// A new axis of extent 1 before `axis` (-1: after the last).
SymbolicTensor expand_dims(const SymbolicTensor& x, std::ptrdiff_t axis);
/// Removes `axis`, whose extent must be 1.
SymbolicTensor squeeze(const SymbolicTensor& x, std::ptrdiff_t axis);
/// Entries [first, first + count) of `axis`.
SymbolicTensor slice(const SymbolicTensor& x, std::ptrdiff_t axis, std::int64_t first, std::int64_t count);
/// The entries of `axis` from the last to the first.
SymbolicTensor reverse(const SymbolicTensor& x, std::ptrdiff_t axis);
/// Concatenates along `axis`, the only axis in which shapes may differ; by default along the first one.
SymbolicTensor concatenate(const std::vector<SymbolicTensor>& x, std::ptrdiff_t axis = 0);
/// x divided along `axis` into `parts` equal parts; by default along the first one.
std::vector<SymbolicTensor> split(const SymbolicTensor& x, std::int64_t parts, std::ptrdiff_t axis = 0);
/// Axis i of the result is axis order[i] of x; without an order the axes are reversed.
SymbolicTensor transpose(const SymbolicTensor& x, const std::vector<std::uint8_t>& order = {});

}  // namespace etude::ops
