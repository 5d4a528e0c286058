#include "etude/layers/symbolic_ops.hpp"

#include "etude/ops/einsum.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::ops {
namespace {

using X = const SymbolicTensor&;
using Operand = const SymbolicOperand&;
using Axes = const std::vector<std::ptrdiff_t>&;

SymbolicTensor unary(Value (*op)(Value), X x) { return apply_op(elementwise_op(op), {x}); }
SymbolicTensor binary(Value (*op)(Value, Value), Operand a, Operand b) { return apply_op(elementwise_op(op), {a, b}); }

}  // namespace

SymbolicTensor negate(X x) { return unary(negate, x); }
SymbolicTensor absolute(X x) { return unary(absolute, x); }
SymbolicTensor sign(X x) { return unary(sign, x); }
SymbolicTensor square(X x) { return unary(square, x); }
SymbolicTensor sqrt(X x) { return unary(sqrt, x); }
SymbolicTensor exp(X x) { return unary(exp, x); }
SymbolicTensor log(X x) { return unary(log, x); }
SymbolicTensor log1p(X x) { return unary(log1p, x); }
SymbolicTensor sin(X x) { return unary(sin, x); }
SymbolicTensor cos(X x) { return unary(cos, x); }
SymbolicTensor arctan(X x) { return unary(arctan, x); }
SymbolicTensor tanh(X x) { return unary(tanh, x); }
SymbolicTensor sigmoid(X x) { return unary(sigmoid, x); }
SymbolicTensor relu(X x) { return unary(relu, x); }
SymbolicTensor softplus(X x) { return unary(softplus, x); }
SymbolicTensor erf(X x) { return unary(erf, x); }
SymbolicTensor floor(X x) { return unary(floor, x); }
SymbolicTensor logical_not(X x) { return unary(logical_not, x); }
SymbolicTensor is_finite(X x) { return unary(is_finite, x); }
SymbolicTensor stop_gradient(X x) { return unary(stop_gradient, x); }
SymbolicTensor softmax(X x) { return unary(softmax, x); }
SymbolicTensor log_softmax(X x) { return unary(log_softmax, x); }
SymbolicTensor argmax(X x) { return unary(argmax, x); }

SymbolicTensor add(Operand a, Operand b) { return binary(add, a, b); }
SymbolicTensor subtract(Operand a, Operand b) { return binary(subtract, a, b); }
SymbolicTensor multiply(Operand a, Operand b) { return binary(multiply, a, b); }
SymbolicTensor divide(Operand a, Operand b) { return binary(divide, a, b); }
SymbolicTensor power(Operand a, Operand b) { return binary(power, a, b); }
SymbolicTensor maximum(Operand a, Operand b) { return binary(maximum, a, b); }
SymbolicTensor minimum(Operand a, Operand b) { return binary(minimum, a, b); }
SymbolicTensor equal(Operand a, Operand b) { return binary(equal, a, b); }
SymbolicTensor less(Operand a, Operand b) { return binary(less, a, b); }
SymbolicTensor less_equal(Operand a, Operand b) { return binary(less_equal, a, b); }
SymbolicTensor greater(Operand a, Operand b) { return binary(greater, a, b); }
SymbolicTensor greater_equal(Operand a, Operand b) { return binary(greater_equal, a, b); }
SymbolicTensor logical_and(Operand a, Operand b) { return binary(logical_and, a, b); }
SymbolicTensor logical_or(Operand a, Operand b) { return binary(logical_or, a, b); }
SymbolicTensor divide_no_nan(Operand a, Operand b) { return binary(divide_no_nan, a, b); }
SymbolicTensor matmul(Operand a, Operand b) { return binary(matmul, a, b); }

SymbolicTensor where(X condition, X a, X b) { return symbolic(ops::where, condition, a, b); }
SymbolicTensor clip(X x, double low, double high) { return symbolic(ops::clip, x, low, high); }
SymbolicTensor cast(X x, DType dtype) { return symbolic(ops::cast, x, dtype); }
SymbolicTensor einsum(std::string_view equation, X a, X b) { return symbolic(ops::einsum, equation, a, b); }
SymbolicTensor take(X x, X indices) { return symbolic(ops::take, x, indices); }
SymbolicTensor take(const Tensor& x, X indices) { return symbolic(ops::take, x, indices); }
SymbolicTensor sum(X x, Axes axes, bool keepdims) { return symbolic(ops::sum, x, axes, keepdims); }
SymbolicTensor mean(X x, Axes axes, bool keepdims) { return symbolic(ops::mean, x, axes, keepdims); }
SymbolicTensor max(X x, Axes axes, bool keepdims) { return symbolic(ops::max, x, axes, keepdims); }
SymbolicTensor cumsum(X x, std::ptrdiff_t axis, bool exclusive, bool reverse) {
  return symbolic(ops::cumsum, x, axis, exclusive, reverse);
}
SymbolicTensor one_hot(X labels, std::int64_t depth, DType dtype) {
  return symbolic(ops::one_hot, labels, depth, dtype);
}
SymbolicTensor broadcast_to(X x, const Shape& shape) { return symbolic(ops::broadcast_to, x, shape); }
SymbolicTensor reshape(X x, const Shape& shape) { return symbolic(ops::reshape, x, shape); }
SymbolicTensor expand_dims(X x, std::ptrdiff_t axis) { return symbolic(ops::expand_dims, x, axis); }
SymbolicTensor squeeze(X x, std::ptrdiff_t axis) { return symbolic(ops::squeeze, x, axis); }
SymbolicTensor slice(X x, std::ptrdiff_t axis, std::int64_t first, std::int64_t count) {
  return symbolic(ops::slice, x, axis, first, count);
}
SymbolicTensor reverse(X x, std::ptrdiff_t axis) { return symbolic(ops::reverse, x, axis); }
SymbolicTensor concatenate(const std::vector<SymbolicTensor>& x, std::ptrdiff_t axis) {
  return symbolic(ops::concatenate, x, axis);
}
std::vector<SymbolicTensor> split(X x, std::int64_t parts, std::ptrdiff_t axis) {
  return symbolic(ops::split, x, parts, axis);
}
SymbolicTensor transpose(X x, const std::vector<std::uint8_t>& order) { return symbolic(ops::transpose, x, order); }

}  // namespace etude::ops
