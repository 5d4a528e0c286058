#include <numbers>

#include "etude/graph/detail/rules.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

using D = const Differential&;

OperandGradients op::Cast::gradient(D d) const {
  return {is_floating(d.x[0].dtype()) ? ops::cast(d.dy, d.x[0].dtype()) : Value{}};
}
OperandGradients gradient(const op::Negate&, D d) { return {-d.dy}; }
OperandGradients gradient(const op::Absolute&, D d) { return {d.dy * ops::sign(d.x[0])}; }
OperandGradients gradient(const op::Square&, D d) { return {d.dy * (2 * d.x[0])}; }
OperandGradients gradient(const op::Sqrt&, D d) { return {d.dy * 0.5 / d.y}; }
OperandGradients gradient(const op::Exp&, D d) { return {d.dy * d.y}; }
OperandGradients gradient(const op::Log&, D d) { return {d.dy / d.x[0]}; }
OperandGradients gradient(const op::Log1p&, D d) { return {d.dy / (1 + d.x[0])}; }
OperandGradients gradient(const op::Sin&, D d) { return {d.dy * ops::cos(d.x[0])}; }
OperandGradients gradient(const op::Cos&, D d) { return {-d.dy * ops::sin(d.x[0])}; }
OperandGradients gradient(const op::Arctan&, D d) { return {d.dy / (1 + ops::square(d.x[0]))}; }
OperandGradients gradient(const op::Tanh&, D d) { return {d.dy * (1 - ops::square(d.y))}; }
OperandGradients gradient(const op::Sigmoid&, D d) { return {d.dy * d.y * (1 - d.y)}; }
OperandGradients gradient(const op::Relu&, D d) {
  const Value zero = ops::scalar(0, d.y);
  return {ops::where(ops::less(zero, d.y), d.dy, zero)};
}
OperandGradients gradient(const op::Softplus&, D d) { return {d.dy * ops::sigmoid(d.x[0])}; }
OperandGradients gradient(const op::Erf&, D d) {
  return {d.dy * (2 * std::numbers::inv_sqrtpi) * ops::exp(-ops::square(d.x[0]))};
}
OperandGradients gradient(const op::Add&, D d) { return {d.dy, d.dy}; }
OperandGradients gradient(const op::Subtract&, D d) { return {d.dy, -d.dy}; }
OperandGradients gradient(const op::Multiply&, D d) { return {d.dy * d.x[1], d.dy * d.x[0]}; }
OperandGradients gradient(const op::Divide&, D d) { return {d.dy / d.x[1], -d.dy * d.y / d.x[1]}; }
OperandGradients gradient(const op::Power&, D d) {
  // At a = 0 the logarithm is infinite and y is 0: the product is set to 0, for every exponent above 0.
  const Value zero = ops::scalar(0, d.y), one = ops::scalar(1, d.y);
  const Value safe = ops::where(ops::equal(d.x[0], zero), one, d.x[0]);
  return {d.dy * d.x[1] * ops::power(d.x[0], d.x[1] - 1), d.dy * d.y * ops::log(safe)};
}
// A tie belongs to the first operand, NaN to the second.
OperandGradients gradient(const op::Maximum&, D d) {
  const Value first = ops::less_equal(d.x[1], d.x[0]), zero = ops::scalar(0, d.dy);
  return {ops::where(first, d.dy, zero), ops::where(first, zero, d.dy)};
}
OperandGradients gradient(const op::Minimum&, D d) {
  const Value first = ops::less_equal(d.x[0], d.x[1]), zero = ops::scalar(0, d.dy);
  return {ops::where(first, d.dy, zero), ops::where(first, zero, d.dy)};
}
OperandGradients gradient(const op::Select&, D d) {
  const Value zero = ops::scalar(0, d.dy);
  return {Value{}, ops::where(d.x[0], d.dy, zero), ops::where(d.x[0], zero, d.dy)};
}

}  // namespace etude
