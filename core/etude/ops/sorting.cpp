#include "etude/ops/sorting.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/arithmetic.hpp"
#include "etude/ops/arrangement.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Meta op::ArgSort::infer(Operands x) const {
  const bool sorts = is_floating(x[0].dtype()) || x[0].dtype() == DType::int32;
  check(sorts, ErrorKind::dtype, "ArgSort", "dtype ", x[0].dtype(), " - expected int32 or a float - cast it.");
  check(x[0].shape().rank() > 0 && x[0].shape()[-1] < (std::int64_t{1} << 31), ErrorKind::shape, "ArgSort", "shape ",
        x[0].shape(), " - expected a last axis of fewer than 2^31 elements - reshape it.");
  return {x[0].shape(), DType::int32};
}

namespace ops {
namespace {

/// The order of the last axis.
Value order_of(Value x, bool descending) { return x.graph().append(op::ArgSort{descending}, {x}); }

/// x, whose last axis has the elements of `axes`, and the shape of the result, in which these have extents of 1.
struct Rows {
  Value values;
  Shape kept;
};
Rows rows_along(Value x, const std::vector<std::ptrdiff_t>& axes, const char* where) {
  std::vector<bool> is_chosen(x.shape().rank(), axes.empty());
  for (const std::ptrdiff_t axis : axes) is_chosen[x.shape().axis(axis, where)] = true;
  std::vector<std::int64_t> chosen, places;
  Shape rows, kept = x.shape();
  std::int64_t count = 1;
  for (std::size_t i = 0; i < is_chosen.size(); ++i) {
    const auto axis = static_cast<std::ptrdiff_t>(i);
    if (is_chosen[i]) {
      chosen.push_back(axis);
      places.push_back(static_cast<std::int64_t>(i));
      count *= x.shape()[axis];
      kept[axis] = 1;
    } else {
      rows.append(x.shape()[axis]);
    }
  }
  for (std::size_t i = 0; i < chosen.size(); ++i) places[i] = static_cast<std::int64_t>(rows.rank() + i);
  check(count > 0, ErrorKind::shape, where, "shape ", x.shape(), " - expected at least one element - check the data.");
  rows.append(count);
  return {reshape(moveaxis(x, chosen, places), rows), kept};
}

/// A fraction of the sorted last axis, which is removed.
Value fraction_of(Value sorted, double q, const char* where) {
  check(q >= 0 && q <= 1, ErrorKind::value, where, "q = ", q, " - expected a fraction from 0 to 1 - check it.");
  const double place = q * static_cast<double>(sorted.shape()[-1] - 1), below = std::floor(place);
  const auto at = static_cast<std::int64_t>(below);
  const Value low = squeeze(slice(sorted, -1, at, 1), -1);
  if (place == below) return low;
  return low * (1 - (place - below)) + squeeze(slice(sorted, -1, at + 1, 1), -1) * (place - below);
}

/// A fraction of the elements along `axes`; NaN, which is the last one, if there is one.
Value quantile_along(Value x, double q, const std::vector<std::ptrdiff_t>& axes, bool keepdims, const char* name) {
  const Rows rows = rows_along(to_floats(x), axes, name);
  const Value sorted = sort(rows.values), last = squeeze(slice(sorted, -1, sorted.shape()[-1] - 1, 1), -1);
  const Value result = where(equal(last, last), fraction_of(sorted, q, name), last);
  return keepdims ? reshape(result, rows.kept) : result;
}

}  // namespace

Value argsort(Value x, std::ptrdiff_t axis, bool descending) {
  const auto at = static_cast<std::int64_t>(x.shape().axis(axis, "argsort"));
  return moveaxis(order_of(moveaxis(x, {at}, {-1}), descending), {-1}, {at});
}

Value sort(Value x, std::ptrdiff_t axis) {
  const auto at = static_cast<std::int64_t>(x.shape().axis(axis, "sort"));
  const Value rows = moveaxis(x, {at}, {-1});
  return moveaxis(take_along_axis(rows, order_of(rows, false), -1), {-1}, {at});
}

std::pair<Value, Value> top_k(Value x, std::int64_t k) {
  const std::int64_t count = x.shape().rank() > 0 ? x.shape()[-1] : 0;
  check(k >= 1 && k <= count, ErrorKind::value, "top_k", "k = ", k, " for shape ", x.shape(),
        " - expected a number from 1 to the extent of the last axis - check it.");
  const Value indices = slice(order_of(x, true), -1, 0, k);
  return {take_along_axis(x, indices, -1), indices};
}

Value quantile(Value x, const std::vector<double>& q, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  std::vector<Value> parts;
  for (const double fraction : q) parts.push_back(quantile(x, fraction, axes, keepdims));
  check(!parts.empty(), ErrorKind::value, "quantile", "no fraction - expected at least one - set q.");
  return stack(parts, 0);
}

Value quantile(Value x, double q, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return quantile_along(x, q, axes, keepdims, "quantile");
}

Value median(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return quantile_along(x, 0.5, axes, keepdims, "median");
}

}  // namespace ops
}  // namespace etude
