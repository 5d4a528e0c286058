#include "etude/ops/elementwise.hpp"

#include <cmath>
#include <optional>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Meta infer_elementwise(const ElementwiseRule& rule, Operands inputs) {
  check(inputs.size() == rule.arity, ErrorKind::shape, rule.name, inputs.size(), " operands - expected ", rule.arity,
        " - call its function in ops.");
  const Value& last = inputs.back();
  for (std::size_t i = rule.selects ? 1 : 0; i + 1 < inputs.size(); ++i)
    check(inputs[i].dtype() == last.dtype(), ErrorKind::dtype, rule.name, "operands of dtype ", inputs[i].dtype(),
          " and ", last.dtype(), " - expected equal dtypes - cast one of them.");
  for (const Value& input : inputs)
    check(input.shape() == last.shape(), ErrorKind::shape, rule.name, "operands of shape ", input.shape(), " and ",
          last.shape(), " - expected equal shapes - broadcast one of them.");
  check(!rule.floating || is_floating(last.dtype()), ErrorKind::dtype, rule.name, "an operand of dtype ", last.dtype(),
        " - expected a float - cast it to float32.");
  check(!rule.leaves_bytes || size_of(last.dtype()) > 1, ErrorKind::dtype, rule.name, "an operand of dtype ",
        last.dtype(), " - expected a float or int32 - cast it.");
  check(!rule.selects || inputs[0].dtype() == DType::boolean, ErrorKind::dtype, rule.name, "a condition of dtype ",
        inputs[0].dtype(), " - expected bool - use a comparison.");
  return {last.shape(), rule.condition ? DType::boolean : last.dtype()};
}

namespace ops {
namespace {

template <class F> Value unary(Value x) { return x.graph().append(F{}, {x}); }

template <class F> Value binary(Value a, Value b) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape(), struct_name<F>());
  return a.graph().append(F{}, {broadcast_to(a, shape), broadcast_to(b, shape)});
}

/// The number in all elements of a Constant; empty for another Value.
std::optional<double> constant_of(Value x) {
  const auto* constant = std::get_if<op::Constant>(&x.op());
  return constant ? std::optional(constant->value) : std::nullopt;
}
bool is_constant(Value x, double value) { return constant_of(x) == value; }

/// x in the shape that broadcasting with `other` would give it.
Value like_broadcast(Value x, Value other) {
  return broadcast_to(x, broadcast_shapes(x.shape(), other.shape(), "broadcast"));
}

}  // namespace

Value negate(Value x) { return unary<op::Negate>(x); }
Value absolute(Value x) { return unary<op::Absolute>(x); }
Value sign(Value x) { return unary<op::Sign>(x); }
Value square(Value x) { return unary<op::Square>(x); }
Value sqrt(Value x) { return unary<op::Sqrt>(x); }
Value exp(Value x) { return unary<op::Exp>(x); }
Value log(Value x) { return unary<op::Log>(x); }
Value log1p(Value x) { return unary<op::Log1p>(x); }
Value sin(Value x) { return unary<op::Sin>(x); }
Value cos(Value x) { return unary<op::Cos>(x); }
Value arctan(Value x) { return unary<op::Arctan>(x); }
Value tanh(Value x) { return unary<op::Tanh>(x); }
Value sigmoid(Value x) { return unary<op::Sigmoid>(x); }
Value relu(Value x) { return unary<op::Relu>(x); }
Value softplus(Value x) { return unary<op::Softplus>(x); }
Value erf(Value x) { return unary<op::Erf>(x); }
Value floor(Value x) { return unary<op::Floor>(x); }
Value logical_not(Value x) { return unary<op::LogicalNot>(x); }
Value is_finite(Value x) { return unary<op::IsFinite>(x); }

// x + 0, x * 1 and similar ops return x: gradients contain many of them.
Value add(Value a, Value b) {
  if (is_constant(b, 0) && a.dtype() == b.dtype()) return like_broadcast(a, b);
  if (is_constant(a, 0) && a.dtype() == b.dtype()) return like_broadcast(b, a);
  return binary<op::Add>(a, b);
}
Value subtract(Value a, Value b) {
  if (is_constant(b, 0) && a.dtype() == b.dtype()) return like_broadcast(a, b);
  return binary<op::Subtract>(a, b);
}
Value multiply(Value a, Value b) {
  if (is_constant(b, 1) && a.dtype() == b.dtype()) return like_broadcast(a, b);
  if (is_constant(a, 1) && a.dtype() == b.dtype()) return like_broadcast(b, a);
  return binary<op::Multiply>(a, b);
}
Value divide(Value a, Value b) {
  if (is_constant(b, 1) && a.dtype() == b.dtype()) return like_broadcast(a, b);
  if (const auto x = constant_of(a), y = constant_of(b); x && y && is_floating(a.dtype()) && a.dtype() == b.dtype()) {
    const double quotient =
        // Computed as in a step
        a.dtype() == DType::float32 ? static_cast<float>(*x) / static_cast<float>(*y) : *x / *y;
    return broadcast_to(scalar(quotient, a), broadcast_shapes(a.shape(), b.shape(), struct_name<op::Divide>()));
  }
  return binary<op::Divide>(a, b);
}
/// Powers with a constant exponent that need no logarithm avoid it.
Value power(Value a, Value b) {
  if (!is_floating(a.dtype()) || a.dtype() != b.dtype()) return binary<op::Power>(a, b);
  if (is_constant(b, 1)) return like_broadcast(a, b);
  if (is_constant(b, 2)) return like_broadcast(square(a), b);
  if (is_constant(b, 3)) return like_broadcast(square(a) * a, b);
  if (is_constant(b, 0.5)) return like_broadcast(sqrt(a), b);
  if (is_constant(b, -0.5)) return like_broadcast(1 / sqrt(a), b);
  if (is_constant(b, -1)) return like_broadcast(1 / a, b);
  return binary<op::Power>(a, b);
}
Value maximum(Value a, Value b) { return binary<op::Maximum>(a, b); }
Value minimum(Value a, Value b) { return binary<op::Minimum>(a, b); }
Value equal(Value a, Value b) { return binary<op::Equal>(a, b); }
Value less(Value a, Value b) { return binary<op::Less>(a, b); }
Value less_equal(Value a, Value b) { return binary<op::LessEqual>(a, b); }
Value greater(Value a, Value b) { return less(b, a); }
Value greater_equal(Value a, Value b) { return less_equal(b, a); }
Value logical_and(Value a, Value b) { return binary<op::LogicalAnd>(a, b); }
Value logical_or(Value a, Value b) { return binary<op::LogicalOr>(a, b); }

Value where(Value condition, Value a, Value b) {
  Shape shape = broadcast_shapes(a.shape(), b.shape(), "Select");
  shape = broadcast_shapes(condition.shape(), shape, "Select");
  return a.graph().append(op::Select{},
                          {broadcast_to(condition, shape), broadcast_to(a, shape), broadcast_to(b, shape)});
}

Value clip(Value x, double low, double high) { return minimum(maximum(x, scalar(low, x)), scalar(high, x)); }

Value divide_no_nan(Value a, Value b) {
  const Value zero = scalar(0, b);
  const Value is_zero = equal(b, zero);
  return where(is_zero, zero, a / where(is_zero, scalar(1, b), b));
}

Value cast(Value x, DType dtype) {
  return x.dtype() == dtype ? x : x.graph().append(op::Cast{dtype}, {x}).with_mask(x.mask());
}
Value upcast(Value x) { return is_half(x.dtype()) ? cast(x, DType::float32) : x; }
Value stop_gradient(Value x) { return x.graph().append(op::StopGradient{}, {x}); }
Value scalar(double value, Value like) {
  const bool is_whole = value == std::trunc(value), is_bool = value == 0 || value == 1;
  const bool fits = is_floating(like.dtype()) || (like.dtype() == DType::boolean ? is_bool : is_whole);
  check(fits, ErrorKind::dtype, "scalar", "the number ", value, " beside a Value of ", like.dtype(),
        " - expected a number of that dtype - cast the Value to a float first.");
  return like.graph().constant(value, like.dtype());
}
Value full(const Shape& shape, double value, DType dtype) { return Graph::current().constant(value, dtype, shape); }
Value zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Value ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }

}  // namespace ops

Meta op::Cast::infer(Operands x) const { return {x[0].shape(), dtype}; }
Meta op::StopGradient::infer(Operands x) const { return {x[0].shape(), x[0].dtype()}; }

}  // namespace etude
