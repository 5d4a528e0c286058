#pragma once

#include "etude/graph/graph.hpp"

/// Elementwise functions that are composed of elementwise ops. Operands broadcast by NumPy's rule; their dtypes must be
/// equal. Functions of real numbers give floats for integers.
namespace etude::ops {

/// x, in which integers are converted to floatx().
Value to_floats(Value x);
/// Whether each element is not 0.
Value to_bool(Value x);

/// 1 / x.
Value reciprocal(Value x);
/// 1 / sqrt(x).
Value rsqrt(Value x);
/// The smallest integer that is not below x.
Value ceil(Value x);
/// The nearest integer; the even one of two that are equally near.
Value round(Value x);
/// x without its fraction.
Value trunc(Value x);
/// exp(x) - 1, exact for small x.
Value expm1(Value x);
/// 2 to the power of x.
Value exp2(Value x);
/// The logarithm of x to base 2.
Value log2(Value x);
/// The logarithm of x to base 10.
Value log10(Value x);
/// The tangent of x, in radians.
Value tan(Value x);
/// The hyperbolic sine of x.
Value sinh(Value x);
/// The hyperbolic cosine of x.
Value cosh(Value x);
/// The angle whose sine is x, in radians: from -pi / 2 to pi / 2; NaN beyond 1.
Value arcsin(Value x);
/// The angle whose cosine is x, in radians: from 0 to pi; NaN beyond 1.
Value arccos(Value x);
/// The number whose hyperbolic sine is x.
Value arcsinh(Value x);
/// The number, not negative, whose hyperbolic cosine is x; NaN below 1.
Value arccosh(Value x);
/// The number whose hyperbolic tangent is x; NaN beyond 1.
Value arctanh(Value x);
/// Whether x is NaN.
Value is_nan(Value x);
/// Whether x is infinite.
Value is_inf(Value x);

/// The angle of the point (x, y), in radians: from -pi to pi. Shapes broadcast. An angle of (0, 0) is 0, and -0 counts
/// as 0.
Value arctan2(Value y, Value x);
/// Whether a and b differ. Shapes broadcast.
Value not_equal(Value a, Value b);
/// Whether exactly one of them is not 0. Shapes broadcast.
Value logical_xor(Value a, Value b);
/// The largest integer that is not above a / b. Shapes broadcast. Of int32 exact up to 2^24.
Value floor_divide(Value a, Value b);
/// a - floor_divide(a, b) · b, which has the sign of b. Shapes broadcast.
Value mod(Value a, Value b);
/// log(exp(a) + exp(b)), without overflow. Shapes broadcast.
Value logaddexp(Value a, Value b);
/// (a - b)². Shapes broadcast.
Value squared_difference(Value a, Value b);

}  // namespace etude::ops
