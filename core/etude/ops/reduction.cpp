#include "etude/ops/reduction.hpp"

#include <algorithm>
#include <numeric>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

Meta reduced(std::size_t first, std::size_t count, const Value& x) {
  Shape shape;
  for (std::size_t i = 0; i < x.shape().rank(); ++i)
    if (i < first || i >= first + count) shape.append(x.shape()[static_cast<std::ptrdiff_t>(i)]);
  return {shape, x.dtype()};
}

/// The reduced Value with its axes restored as extents of 1, broadcast to `like`'s shape.
Value spread(Value reduced, std::size_t first, std::size_t count, const Shape& like) {
  Shape shape = like;
  for (std::size_t i = first; i < first + count; ++i) shape[static_cast<std::ptrdiff_t>(i)] = 1;
  return ops::broadcast_to(ops::reshape(reduced, shape), like);
}

/// Reduces each run of neighbouring axes by one op, from the last run to the first, so that earlier axes keep their
/// index.
template <class O> Value reduce(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims, const char* where) {
  const std::size_t rank = x.shape().rank();
  std::vector<bool> gone(rank, axes.empty());
  for (std::ptrdiff_t axis : axes) gone[x.shape().axis(axis, where)] = true;
  Shape kept = x.shape();
  Value result = x;
  for (std::size_t end = rank; end > 0;) {
    if (!gone[end - 1]) {
      --end;
      continue;
    }
    std::size_t first = end - 1;
    while (first > 0 && gone[first - 1]) --first;
    const O op{static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(end - first)};
    const Meta meta = op.infer({&result, 1});
    result = meta.shape.size() == result.shape().size() && is_floating(meta.dtype)
                 ? ops::reshape(result, meta.shape)  // one element each
                 : result.graph().append(op, {result});
    for (std::size_t i = first; i < end; ++i) kept[static_cast<std::ptrdiff_t>(i)] = 1;
    end = first;
  }
  return keepdims ? ops::reshape(result, kept) : result;
}

void check_summable(const char* where, Value x) {
  check(x.dtype() != DType::boolean && x.dtype() != DType::uint8, ErrorKind::dtype, where, "dtype ", x.dtype(),
        " - expected float32, float64 or int32 - cast it.");
}

}  // namespace

Meta op::Sum::infer(Operands x) const {
  check_summable("Sum", x[0]);
  return reduced(first, count, x[0]);
}
Meta op::Cumsum::infer(Operands x) const {
  check_summable("Cumsum", x[0]);
  return {x[0].shape(), x[0].dtype()};
}
Meta op::Max::infer(Operands x) const {
  check(is_floating(x[0].dtype()), ErrorKind::dtype, "Max", "dtype ", x[0].dtype(), " - expected a float - cast it.");
  const Meta meta = reduced(first, count, x[0]);
  check(x[0].shape().size() > 0 || meta.shape.size() == 0, ErrorKind::shape, "Max", "shape ", x[0].shape(),
        " - expected at least one element - check the data.");
  return meta;
}
Meta op::ArgMax::infer(Operands x) const {
  check(x[0].shape().rank() > 0 && x[0].shape()[-1] > 0 && is_floating(x[0].dtype()), ErrorKind::shape, "ArgMax",
        "shape ", x[0].shape(), ", ", x[0].dtype(),
        " - expected a float tensor with a last axis of 1 or more - reshape or cast it.");
  return {x[0].shape().without(-1), DType::int32};
}
Meta op::OneHot::infer(Operands x) const {
  check(x[0].dtype() == DType::int32, ErrorKind::dtype, "OneHot", "labels of dtype ", x[0].dtype(),
        " - expected int32 - cast them.");
  check(depth > 0, ErrorKind::shape, "OneHot", "a depth of ", depth, " - expected 1 or more - count the classes.");
  Shape shape = x[0].shape();
  shape.append(depth);
  return {shape, dtype};
}

OperandGradients op::Sum::gradient(const Differential& d) const { return {spread(d.dy, first, count, d.x[0].shape())}; }
OperandGradients op::Cumsum::gradient(const Differential& d) const {
  return {ops::cumsum(d.dy, axis, exclusive, !reverse)};
}
OperandGradients op::Max::gradient(const Differential& d) const {
  // The gradient is divided equally between equal maxima.
  const Value is_max = ops::cast(ops::equal(d.x[0], spread(d.y, first, count, d.x[0].shape())), d.dy.dtype());
  const Value equals = d.y.graph().append(op::Sum{first, count}, {is_max});
  return {spread(d.dy / equals, first, count, d.x[0].shape()) * is_max};
}

namespace ops {

Value sum(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return reduce<op::Sum>(x, axes, keepdims, "sum");
}

Value sum_to(Value x, const Shape& shape) {
  const auto extra = static_cast<std::ptrdiff_t>(x.shape().rank() - shape.rank());
  std::vector<std::ptrdiff_t> axes;
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(x.shape().rank()); ++i)
    if (i < extra || (shape[i - extra] == 1 && x.shape()[i] != 1)) axes.push_back(i);
  return axes.empty() ? x : reshape(sum(x, axes), shape);
}

Value mean(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  // The sum and the count may overflow in half precision.
  if (is_half(x.dtype())) return cast(mean(upcast(x), axes, keepdims), x.dtype());
  const Value total = sum(x, axes, keepdims);
  const auto count =
      static_cast<double>(x.shape().size()) / static_cast<double>(std::max<std::int64_t>(total.shape().size(), 1));
  return total / count;
}

Value cumsum(Value x, std::ptrdiff_t axis, bool exclusive, bool reverse) {
  const auto at = static_cast<std::uint8_t>(x.shape().axis(axis, "cumsum"));
  return x.graph().append(op::Cumsum{at, exclusive, reverse}, {x});
}

Value max(Value x, const std::vector<std::ptrdiff_t>& axes, bool keepdims) {
  return reduce<op::Max>(x, axes, keepdims, "max");
}

Value argmax(Value x) { return x.graph().append(op::ArgMax{}, {x}); }

Value one_hot(Value labels, std::int64_t depth, DType dtype) {
  return labels.graph().append(op::OneHot{depth, dtype}, {labels});
}

}  // namespace ops
}  // namespace etude
