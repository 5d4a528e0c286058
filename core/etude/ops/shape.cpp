#include "etude/ops/shape.hpp"

#include <algorithm>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"

namespace etude {

Meta op::Broadcast::infer(Operands x) const {
  check(broadcast_shapes(x[0].shape(), shape, "Broadcast") == shape, ErrorKind::shape, "Broadcast", "shape ",
        x[0].shape(), " to ", shape, " - expected a shape that repeats axes of extent 1 - reshape x first.");
  return {shape, x[0].dtype()};
}

Meta op::Reshape::infer(Operands x) const {
  const bool possible = std::ranges::none_of(shape, [](std::int64_t extent) { return extent < 0; });
  check(possible && shape.size() == x[0].shape().size(), ErrorKind::shape, "Reshape", "shape ", x[0].shape(), " to ",
        shape, " - expected as many elements - check the target shape.");
  return {shape, x[0].dtype()};
}

Meta op::Transpose::infer(Operands x) const {
  Shape shape = x[0].shape();
  for (std::size_t i = 0; i < shape.rank(); ++i) shape[static_cast<std::ptrdiff_t>(i)] = x[0].shape()[order[i]];
  return {shape, x[0].dtype()};
}

Meta op::Slice::infer(Operands x) const {
  Shape shape = x[0].shape();
  check(axis < shape.rank() && first >= 0 && count >= 0 && first <= shape[axis] && count <= shape[axis] - first,
        ErrorKind::shape, "Slice", count, " entries from ", first, " on of axis ", int{axis}, " of shape ", shape,
        " - expected existing entries - check the range.");
  shape[axis] = count;
  return {shape, x[0].dtype()};
}

Meta op::Reverse::infer(Operands x) const { return {x[0].shape(), x[0].dtype()}; }

Meta op::Concatenate::infer(Operands x) const {
  check(!x.empty() && axis < x[0].shape().rank(), ErrorKind::shape, "Concatenate", x.size(), " tensors along axis ",
        int{axis}, " - expected one or more that have that axis - check the list and the axis.");
  Shape shape = x[0].shape();
  for (const Value& other : x.subspan(1)) {
    check(other.dtype() == x[0].dtype() && other.shape().rank() == shape.rank() &&
              other.shape().without(axis) == shape.without(axis),
          ErrorKind::shape, "Concatenate", "shapes ", x[0].shape(), ", ", x[0].dtype(), ", and ", other.shape(), ", ",
          other.dtype(), " along axis ", int{axis}, " - expected one dtype, and shapes that differ along that axis ",
          "only - reshape or cast them.");
    shape[axis] = checked::add(shape[axis], other.shape()[axis], "Concatenate");
  }
  return {shape, x[0].dtype()};
}

namespace ops {

Value broadcast_to(Value x, const Shape& shape) {
  return x.shape() == shape ? x : x.graph().append(op::Broadcast{shape}, {x});
}

Value reshape(Value x, const Shape& target) {
  Shape shape = target;
  std::int64_t known = 1, *unknown = nullptr;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    std::int64_t& extent = shape[static_cast<std::ptrdiff_t>(i)];
    if (extent == -1 && !unknown)
      unknown = &extent;
    else
      known = checked::multiply(known, extent, "Reshape");
  }
  if (unknown) {
    check(known > 0 && x.shape().size() % known == 0, ErrorKind::shape, "Reshape", "shape ", x.shape(), " to ", target,
          " - expected an integer extent for -1 - check the target shape.");
    *unknown = x.shape().size() / known;
  }
  if (x.shape() == shape) return x;
  // A reshape of a reshape is one reshape.
  if (std::holds_alternative<op::Reshape>(x.op()))
    return reshape(Value(x.graph(), x.graph().node(x.id()).inputs[0]), shape);
  return x.graph().append(op::Reshape{shape}, {x});
}

Value expand_dims(Value x, std::ptrdiff_t axis) {
  const auto rank = static_cast<std::ptrdiff_t>(x.shape().rank());
  check(axis >= -rank - 1 && axis <= rank, ErrorKind::shape, "expand_dims", "axis ", axis, " of shape ", x.shape(),
        " - expected an axis from ", -rank - 1, " to ", rank, " - pass one of them.");
  return reshape(x, x.shape().with(static_cast<std::size_t>(axis < 0 ? axis + rank + 1 : axis), 1));
}

Value squeeze(Value x, std::ptrdiff_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(x.shape().axis(axis, "squeeze"));
  check(x.shape()[at] == 1, ErrorKind::shape, "squeeze", "axis ", axis, " of shape ", x.shape(),
        " - expected an extent of 1 - pass another axis.");
  return reshape(x, x.shape().without(at));
}

Value slice(Value x, std::ptrdiff_t axis, std::int64_t first, std::int64_t count) {
  const auto at = static_cast<std::uint8_t>(x.shape().axis(axis, "slice"));
  if (first == 0 && count == x.shape()[at]) return x;
  return x.graph().append(op::Slice{at, first, count}, {x});
}

Value reverse(Value x, std::ptrdiff_t axis) {
  return x.graph().append(op::Reverse{static_cast<std::uint8_t>(x.shape().axis(axis, "reverse"))}, {x});
}

Value concatenate(const std::vector<Value>& x, std::ptrdiff_t axis) {
  check(!x.empty(), ErrorKind::shape, "concatenate", "no tensors - expected one or more - check the list.");
  const auto at = static_cast<std::uint8_t>(x.front().shape().axis(axis, "concatenate"));
  return x.size() == 1 ? x.front() : x.front().graph().append(op::Concatenate{at}, x);
}

std::vector<Value> split(Value x, std::int64_t parts, std::ptrdiff_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(x.shape().axis(axis, "split"));
  const std::int64_t extent = x.shape()[at];
  check(parts > 0 && extent % parts == 0, ErrorKind::shape, "split", parts, " parts of axis ", axis, " of shape ",
        x.shape(), " - expected a number that divides ", extent, " - pass another number, or use slice.");
  std::vector<Value> result;
  for (std::int64_t i = 0; i < parts; ++i) result.push_back(slice(x, at, i * (extent / parts), extent / parts));
  return result;
}

Value transpose(Value x, const std::vector<std::uint8_t>& order) {
  const std::size_t rank = x.shape().rank();
  op::Transpose op{};
  std::vector<bool> seen(rank);
  check(order.empty() || order.size() == rank, ErrorKind::shape, "transpose", order.size(), " axes for shape ",
        x.shape(), " - expected ", rank, " - name every axis once.");
  for (std::size_t i = 0; i < rank; ++i) {
    op.order[i] = order.empty() ? static_cast<std::uint8_t>(rank - 1 - i) : order[i];
    check(op.order[i] < rank && !seen[op.order[i]], ErrorKind::shape, "transpose", "axis ", int{op.order[i]},
          " of shape ", x.shape(), " - expected every axis once - check the order.");
    seen[op.order[i]] = true;
  }
  return x.graph().append(op, {x});
}

}  // namespace ops
}  // namespace etude
