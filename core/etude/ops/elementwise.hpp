#pragma once

#include "etude/graph/graph.hpp"

/// The functions for elementwise ops. Operands broadcast by NumPy's rule; their dtypes must be equal. A number takes
/// the dtype of the other operand.
namespace etude::ops {

Value negate(Value x);
Value absolute(Value x);
Value sign(Value x);
Value square(Value x);
Value sqrt(Value x);
Value exp(Value x);
Value log(Value x);
Value log1p(Value x);
Value sin(Value x);
Value cos(Value x);
Value tanh(Value x);
Value sigmoid(Value x);
Value relu(Value x);
Value softplus(Value x);
Value erf(Value x);
Value floor(Value x);
Value logical_not(Value x);
Value is_finite(Value x);

Value add(Value a, Value b);
Value subtract(Value a, Value b);
Value multiply(Value a, Value b);
Value divide(Value a, Value b);
Value power(Value a, Value b);
Value maximum(Value a, Value b);
Value minimum(Value a, Value b);
Value equal(Value a, Value b);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
Value greater(Value a, Value b);
Value greater_equal(Value a, Value b);
Value logical_and(Value a, Value b);
Value logical_or(Value a, Value b);
/// a if the condition is true, else b.
Value where(Value condition, Value a, Value b);
/// x limited to [low, high].
Value clip(Value x, double low, double high);
/// a / b, and 0 if b is 0.
Value divide_no_nan(Value a, Value b);

Value cast(Value x, DType dtype);
/// Casts half precision to float32; returns other dtypes unchanged.
Value upcast(Value x);
Value stop_gradient(Value x);
/// A scalar of `like`'s dtype.
Value scalar(double value, Value like);
/// Within a trace: a Value with `value` in all elements.
Value full(const Shape& shape, double value, DType dtype = floatx());
Value zeros(const Shape& shape, DType dtype = floatx());
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
