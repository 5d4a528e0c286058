#include "etude/ops/statistics.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/arithmetic.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::ops {
namespace {

using Axes = std::vector<std::ptrdiff_t>;

/// The axes counted from the front, each once and in order; all axes if none are given.
Axes counted(Value x, const Axes& axes, const char* where) {
  std::vector<bool> chosen(x.shape().rank(), axes.empty());
  for (const std::ptrdiff_t axis : axes) chosen[x.shape().axis(axis, where)] = true;
  Axes result;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) result.push_back(static_cast<std::ptrdiff_t>(i));
  return result;
}

/// y, whose axes have extents of 1, without them unless keepdims.
Value finished(Value y, const Axes& axes, bool keepdims) {
  if (keepdims) return y;
  Shape shape = y.shape();
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) shape = shape.without(*axis);
  return reshape(y, shape);
}

/// f of all elements along the axes, for dtypes and functions that have no reduction of their own.
Value folded(Value x, const Axes& axes, Value (*f)(Value, Value)) {
  for (const std::ptrdiff_t axis : axes)
    for (std::int64_t n = x.shape()[axis]; n > 1; n = x.shape()[axis]) {
      const Value halves = f(slice(x, axis, 0, n / 2), slice(x, axis, n / 2, n / 2));
      x = n % 2 > 0 ? concatenate({halves, slice(x, axis, n - 1, 1)}, axis) : halves;
    }
  return x;
}

/// Integers that can be summed and multiplied.
Value summable(Value x) { return size_of(x.dtype()) == 1 ? cast(x, DType::int32) : x; }

}  // namespace

Value min(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  if (is_floating(x.dtype())) return -max(-x, axes, keepdims);
  check(x.shape().size() > 0, ErrorKind::shape, "min", "shape ", x.shape(),
        " - expected at least one element - check the data.");
  const Axes chosen = counted(x, axes, "min");
  return finished(folded(x, chosen, minimum), chosen, keepdims);
}

Value prod(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  x = summable(x);
  const Axes chosen = counted(x, axes, "prod");
  for (const std::ptrdiff_t axis : chosen)
    if (x.shape()[axis] == 0) {
      Shape one = x.shape();
      one[axis] = 1;
      x = full(one, 1, x.dtype());
    }
  return finished(folded(x, chosen, multiply), chosen, keepdims);
}

Value count_nonzero(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return sum(cast(to_bool(x), DType::int32), axes, keepdims);
}
Value any(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return to_bool(count_nonzero(x, axes, keepdims));
}
Value all(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return logical_not(any(logical_not(to_bool(x)), axes, keepdims));
}

Value var(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  const Value number = to_floats(x), wide = upcast(number);
  const Value squares = square(wide - mean(wide, axes, true));
  return cast(mean(squares, axes, keepdims), number.dtype());
}
Value std(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  const Value number = to_floats(x);
  return cast(sqrt(var(upcast(number), axes, keepdims)), number.dtype());
}

Value logsumexp(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  const Value number = to_floats(x), largest = stop_gradient(max(number, axes, true));
  const Value most = where(is_finite(largest), largest, scalar(0, largest));
  const Value y = log(sum(exp(number - most), axes, true)) + most;
  return finished(y, counted(number, axes, "logsumexp"), keepdims);
}
Value norm(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return sqrt(sum(square(to_floats(x)), axes, keepdims));
}
Value normalize(Value x, std::ptrdiff_t axis, double epsilon) {
  check(epsilon > 0 && epsilon < 1, ErrorKind::value, "normalize", "epsilon = ", epsilon,
        " - expected a number between 0 and 1 - the order of the norm is always 2.");
  const Value number = to_floats(x), inverse = 1 / norm(number, {axis}, true);
  return number * minimum(inverse, scalar(1 / epsilon, number));
}

Value argmin(Value x) { return argmax(-to_floats(x)); }

Value diff(Value x, std::int64_t n, std::ptrdiff_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(x.shape().axis(axis, "diff"));
  check(n >= 0, ErrorKind::value, "diff", "n = ", n, " - expected 0 or more - set it.");
  x = summable(x);
  for (std::int64_t i = 0; i < n && x.shape()[at] > 0; ++i) {
    const std::int64_t count = x.shape()[at] - 1;
    x = slice(x, at, 1, count) - slice(x, at, 0, count);
  }
  return x;
}

}  // namespace etude::ops
