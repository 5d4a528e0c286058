#pragma once

#include "etude/graph/graph.hpp"

/// The functions for elementwise ops. Operands broadcast by NumPy's rule; their dtypes must be equal. A number takes
/// the dtype of the other operand.
namespace etude::ops {

/// -x.
Value negate(Value x);
/// |x|.
Value absolute(Value x);
/// -1, 0 or 1.
Value sign(Value x);
/// x².
Value square(Value x);
/// The square root of x.
Value sqrt(Value x);
/// e to the power of x.
Value exp(Value x);
/// The natural logarithm of x.
Value log(Value x);
/// log(1 + x), exact for small x.
Value log1p(Value x);
/// The sine of x, in radians.
Value sin(Value x);
/// The cosine of x, in radians.
Value cos(Value x);
/// The angle whose tangent is x, in radians: from -pi / 2 to pi / 2.
Value arctan(Value x);
/// The hyperbolic tangent of x.
Value tanh(Value x);
/// 1 / (1 + exp(-x)).
Value sigmoid(Value x);
/// max(x, 0).
Value relu(Value x);
/// log(1 + exp(x)).
Value softplus(Value x);
/// The error function of x.
Value erf(Value x);
/// The largest integer that is not above x.
Value floor(Value x);
/// Whether x is false.
Value logical_not(Value x);
/// Whether x is neither infinite nor NaN.
Value is_finite(Value x);

/// a + b. Shapes broadcast.
Value add(Value a, Value b);
/// a - b. Shapes broadcast.
Value subtract(Value a, Value b);
/// a · b. Shapes broadcast.
Value multiply(Value a, Value b);
/// a / b. Shapes broadcast.
Value divide(Value a, Value b);
/// a to the power of b. Shapes broadcast.
Value power(Value a, Value b);
/// The larger of a and b. Shapes broadcast.
Value maximum(Value a, Value b);
/// The smaller of a and b. Shapes broadcast.
Value minimum(Value a, Value b);
/// Whether a = b. Shapes broadcast.
Value equal(Value a, Value b);
/// Whether a < b. Shapes broadcast.
Value less(Value a, Value b);
/// Whether a <= b. Shapes broadcast.
Value less_equal(Value a, Value b);
/// Whether a > b. Shapes broadcast.
Value greater(Value a, Value b);
/// Whether a >= b. Shapes broadcast.
Value greater_equal(Value a, Value b);
/// Whether both are true. Shapes broadcast.
Value logical_and(Value a, Value b);
/// Whether one of them is true. Shapes broadcast.
Value logical_or(Value a, Value b);
/// a if the condition is true, else b.
Value where(Value condition, Value a, Value b);
/// x limited to [low, high].
Value clip(Value x, double low, double high);
/// a / b, and 0 if b is 0.
Value divide_no_nan(Value a, Value b);

/// x in another element type.
Value cast(Value x, DType dtype);
/// Casts half precision to float32; returns other dtypes unchanged.
Value upcast(Value x);
/// x, without a gradient.
Value stop_gradient(Value x);
/// A scalar of `like`'s dtype.
Value scalar(double value, Value like);
/// Within a trace: a Value with `value` in all elements.
Value full(const Shape& shape, double value, DType dtype = floatx());
/// Zeros of that shape.
Value zeros(const Shape& shape, DType dtype = floatx());
/// Ones of that shape.
Value ones(const Shape& shape, DType dtype = floatx());

}  // namespace etude::ops

namespace etude {

inline Value operator-(Value x) { return ops::negate(x); }
inline Value operator+(Value a, Value b) { return ops::add(a, b); }
inline Value operator-(Value a, Value b) { return ops::subtract(a, b); }
inline Value operator*(Value a, Value b) { return ops::multiply(a, b); }
inline Value operator/(Value a, Value b) { return ops::divide(a, b); }
inline Value operator+(Value a, double b) { return ops::add(a, ops::scalar(b, a)); }
inline Value operator-(Value a, double b) { return ops::subtract(a, ops::scalar(b, a)); }
inline Value operator*(Value a, double b) { return ops::multiply(a, ops::scalar(b, a)); }
inline Value operator/(Value a, double b) { return ops::divide(a, ops::scalar(b, a)); }
inline Value operator+(double a, Value b) { return ops::add(ops::scalar(a, b), b); }
inline Value operator-(double a, Value b) { return ops::subtract(ops::scalar(a, b), b); }
inline Value operator*(double a, Value b) { return ops::multiply(ops::scalar(a, b), b); }
inline Value operator/(double a, Value b) { return ops::divide(ops::scalar(a, b), b); }

}  // namespace etude
