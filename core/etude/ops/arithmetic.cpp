#include "etude/ops/arithmetic.hpp"

#include <limits>
#include <numbers>

#include "etude/ops/elementwise.hpp"

namespace etude::ops {

Value to_floats(Value x) { return is_floating(x.dtype()) ? x : cast(x, floatx()); }
Value to_bool(Value x) { return x.dtype() == DType::boolean ? x : logical_not(equal(x, scalar(0, x))); }

Value reciprocal(Value x) { return 1 / to_floats(x); }
Value rsqrt(Value x) { return 1 / sqrt(to_floats(x)); }
Value ceil(Value x) { return -floor(-to_floats(x)); }

Value round(Value x) {
  const Value number = to_floats(x), below = floor(number), half = scalar(0.5, number), rest = number - below;
  const Value is_even = equal(below * 0.5, floor(below * 0.5));
  return where(logical_or(less(rest, half), logical_and(equal(rest, half), is_even)), below, below + 1);
}
Value trunc(Value x) {
  const Value number = to_floats(x);
  return where(less(number, scalar(0, number)), ceil(number), floor(number));
}

// exp(x) - 1 = tanh(x / 2) · (exp(x) + 1), in which nothing is cancelled.
Value expm1(Value x) {
  const Value number = to_floats(x);
  return tanh(number * 0.5) * (exp(number) + 1);
}
Value exp2(Value x) { return exp(to_floats(x) * std::numbers::ln2); }
Value log2(Value x) { return log(to_floats(x)) * std::numbers::log2e; }
Value log10(Value x) { return log(to_floats(x)) * std::numbers::log10e; }
Value tan(Value x) {
  const Value number = to_floats(x);
  return sin(number) / cos(number);
}
Value cosh(Value x) {
  const Value number = to_floats(x);
  return (exp(number) + exp(-number)) * 0.5;
}
Value sinh(Value x) { return tanh(to_floats(x)) * cosh(x); }

// sqrt((1 - x) (1 + x)) has the digits that sqrt(1 - x²) loses near 1.
Value arcsin(Value x) {
  const Value number = to_floats(x);
  return arctan(number / sqrt((1 - number) * (1 + number)));
}
Value arccos(Value x) {
  const Value number = to_floats(x);
  return 2 * arctan(sqrt((1 - number) / (1 + number)));
}
// Of |x|, because x + sqrt(x² + 1) cancels below 0. The sign is a constant of the gradient, which is 1 at 0. Beyond 1
// the root is that of 1 + 1 / x², because x² may overflow.
Value arcsinh(Value x) {
  const Value number = to_floats(x), one = scalar(1, number);
  const Value sign_of = where(less(number, scalar(0, number)), -one, one), size = number * sign_of;
  const Value is_large = less(one, size), large = where(is_large, size, one);
  const Value part = where(is_large, 1 / large, size), root = sqrt(1 + square(part));
  return sign_of * (log(large) + log1p(where(is_large, root, part + square(part) / (1 + root))));
}
// Two roots: the product of their arguments may overflow, and is positive below -1, too.
Value arccosh(Value x) {
  const Value more = to_floats(x) - 1;
  return log1p(more + sqrt(more) * sqrt(more + 2));
}
Value arctanh(Value x) {
  const Value number = to_floats(x);
  return 0.5 * (log1p(number) - log1p(-number));
}

Value is_nan(Value x) { return not_equal(x, x); }
Value is_inf(Value x) {
  if (!is_floating(x.dtype())) return is_nan(x);  // false
  return equal(absolute(x), scalar(std::numeric_limits<double>::infinity(), x));
}

// By the quotient whose size is at most 1. The sign of a zero decides as in IEEE 754.
Value arctan2(Value y, Value x) {
  const Value rise = to_floats(y), run = to_floats(x), is_steep = less(absolute(run), absolute(rise));
  const Value divisor = where(is_steep, rise, run), zero = scalar(0, divisor), one = scalar(1, divisor);
  const Value angle = arctan(where(is_steep, run, rise) / where(equal(divisor, zero), one, divisor));
  const auto is_negative = [&](Value side) { return less(where(equal(side, zero), one / side, side), zero); };
  const Value quarter =
      where(is_negative(rise), scalar(-std::numbers::pi / 2, rise), scalar(std::numbers::pi / 2, rise));
  return where(is_steep, quarter - angle, where(is_negative(run), angle + 2 * quarter, angle));
}

Value not_equal(Value a, Value b) { return logical_not(equal(a, b)); }
Value logical_xor(Value a, Value b) {
  const Value left = to_bool(a), right = to_bool(b);
  return logical_and(logical_or(left, right), logical_not(logical_and(left, right)));
}
Value floor_divide(Value a, Value b) {
  if (is_floating(a.dtype()) || a.dtype() != b.dtype()) return floor(a / b);
  return cast(floor(cast(a, DType::float32) / cast(b, DType::float32)), DType::int32);
}
Value mod(Value a, Value b) {
  if (is_floating(a.dtype()) || a.dtype() != b.dtype()) return a - floor(a / b) * b;
  return cast(a, DType::int32) - floor_divide(a, b) * cast(b, DType::int32);
}
Value logaddexp(Value a, Value b) {
  const Value x = to_floats(a), y = to_floats(b), larger = stop_gradient(maximum(x, y));
  const Value most = where(is_finite(larger), larger, scalar(0, larger));
  return log(exp(x - most) + exp(y - most)) + most;
}
Value squared_difference(Value a, Value b) { return square(a - b); }

}  // namespace etude::ops
