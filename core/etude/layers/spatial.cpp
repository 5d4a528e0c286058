#include "etude/layers/spatial.hpp"

#include <limits>

#include "etude/base/error.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude::spatial {

namespace {
constexpr std::size_t axes = std::tuple_size_v<Numbers>;
}

Numbers numbers(const char* name, const Integers& given, std::size_t rank, std::string_view where) {
  const std::vector<std::int64_t>& all = given.all();
  check(all.size() == 1 || all.size() == rank, ErrorKind::value, where, name, " = ",
        all.empty() ? "none" : given.to_string(), " - expected one number",
        rank > 1 ? " for all axes, or one for each of " : "", rank > 1 ? std::to_string(rank) : "", " - set ", name,
        '.');
  Numbers result{1, 1, 1};
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t number = all[all.size() == 1 ? 0 : i];
    check(number > 0 && number <= std::numeric_limits<std::int32_t>::max(), ErrorKind::value, where, name, " = ", given,
          " - expected positive numbers of less than 2^31 - set ", name, '.');
    result[axes - rank + i] = number;
  }
  return result;
}

void check_padding(std::string_view padding, std::string_view where) {
  check(padding == "valid" || padding == "same", ErrorKind::value, where, "padding = \"", padding,
        "\" - expected \"valid\" or \"same\" - choose one.");
}

void check_rank(const Shape& shape, std::size_t rank, bool channels_first, std::string_view where) {
  constexpr const char* spaces[] = {"steps", "height, width", "depth, height, width"};
  const char* space = spaces[rank - 1];
  check(shape.rank() == rank + 2, ErrorKind::shape, where, "input of shape ", shape, " - expected [batch, ",
        channels_first ? "channels, " : "", space, channels_first ? "" : ", channels",
        "] - reshape the data, with an axis of 1 for a single channel.");
}

std::int64_t VolumeWindow::outputs(std::size_t axis, std::int64_t in) const {
  const std::int64_t room = in + before[axis] + after[axis] - span(axis);
  return room < 0 ? 0 : room / strides[axis] + 1;
}

bool VolumeWindow::leaves(std::size_t axis) const {
  return extent[axis] == 1 && strides[axis] == 1 && before[axis] == 0 && after[axis] == 0;
}

Window VolumeWindow::plane() const {
  return {.extent = {extent[1], extent[2]},
          .strides = {strides[1], strides[2]},
          .dilation = {dilation[1], dilation[2]},
          .before = {before[1], before[2]},
          .after = {after[1], after[2]}};
}

Window VolumeWindow::depth() const {
  return {.extent = {extent[0], 1},
          .strides = {strides[0], 1},
          .dilation = {dilation[0], 1},
          .before = {before[0], 0},
          .after = {after[0], 0}};
}

VolumeWindow over(VolumeWindow window, std::string_view padding, const Shape& x, std::size_t rank,
                  std::string_view where) {
  std::string spans, extents;
  bool fits = true;
  for (std::size_t axis = axes - rank; axis < axes; ++axis) {
    const std::int64_t in = x[static_cast<std::ptrdiff_t>(axis - (axes - rank) + 1)];
    if (padding != "causal") {
      const Window one{.extent = {window.extent[axis], 1},
                       .strides = {window.strides[axis], 1},
                       .dilation = {window.dilation[axis], 1}};
      const Window padded = ops::padded(one, padding, {in, 1});
      window.before[axis] = padded.before[0];
      window.after[axis] = padded.after[0];
    }
    fits &= window.outputs(axis, in) > 0;
    spans += (spans.empty() ? "" : " x ") + std::to_string(window.span(axis));
    extents += (extents.empty() ? "" : " x ") + std::to_string(in);
  }
  check(fits, ErrorKind::shape, where, "a window of ", spans, " for an input of ", extents,
        " - expected a window that is not larger - use a smaller one, or padding = \"same\".");
  return window;
}

Value channels_last(Value x, bool channels_first) {
  if (!channels_first) return x;
  std::vector<std::uint8_t> order{0};
  for (std::uint8_t axis = 2; axis < x.shape().rank(); ++axis) order.push_back(axis);
  order.push_back(1);
  return ops::transpose(x, order);
}

Value restore_order(Value y, bool channels_first) {
  if (!channels_first) return y;
  std::vector<std::uint8_t> order{0, static_cast<std::uint8_t>(y.shape().rank() - 1)};
  for (std::uint8_t axis = 1; axis + 1u < y.shape().rank(); ++axis) order.push_back(axis);
  return ops::transpose(y, order);
}

Value to_planes(Value x, std::size_t rank) {
  const Shape& shape = x.shape();
  if (rank == 1) return ops::expand_dims(x, 1);
  if (rank == 2) return x;
  return ops::reshape(x, {shape[0] * shape[1], shape[2], shape[3], shape[4]});
}

Value from_planes(Value planes, std::size_t rank, const Shape& x) {
  const Shape& shape = planes.shape();
  if (rank == 1) return ops::squeeze(planes, 1);
  if (rank == 2) return planes;
  return ops::reshape(planes, {x[0], x[1], shape[1], shape[2], shape[3]});
}

Value split_axis(Value x, std::ptrdiff_t axis, std::initializer_list<std::int64_t> extents) {
  const Shape& from = x.shape();
  Shape shape = from.slice(0, static_cast<std::size_t>(axis));
  for (const std::int64_t extent : extents) shape.append(extent);
  for (auto i = axis + 1; i < static_cast<std::ptrdiff_t>(from.rank()); ++i) shape.append(from[i]);
  return ops::reshape(x, shape);
}

Value pad(Value x, std::ptrdiff_t axis, std::int64_t before, std::int64_t after) {
  std::vector<Value> pieces;
  const auto add_zeros = [&](std::int64_t count) {
    Shape shape = x.shape();
    shape[axis] = count;
    if (count > 0) pieces.push_back(ops::zeros(shape, x.dtype()));
  };
  add_zeros(before);
  pieces.push_back(x);
  add_zeros(after);
  return pieces.size() == 1 ? x : ops::concatenate(pieces, axis);
}

Value strided(Value x, std::ptrdiff_t axis, std::int64_t first, std::int64_t stride, std::int64_t count) {
  if (stride == 1 || count == 1) return ops::slice(x, axis, first, count);
  const auto first_of_each = [&](std::int64_t groups) {
    const Value all = ops::slice(x, axis, first, groups * stride);
    return ops::squeeze(ops::slice(split_axis(all, axis, {groups, stride}), axis + 1, 0, 1), axis + 1);
  };
  if (first + count * stride <= x.shape()[axis]) return first_of_each(count);
  const Value last = ops::slice(x, axis, first + (count - 1) * stride, 1);
  return ops::concatenate({first_of_each(count - 1), last}, axis);
}

Value spread(Value x, std::ptrdiff_t axis, std::int64_t stride) {
  if (stride == 1) return x;
  const std::int64_t count = x.shape()[axis];
  const Value apart = pad(ops::expand_dims(x, axis + 1), axis + 1, 0, stride - 1);
  Shape shape = x.shape();
  shape[axis] = count * stride;
  return ops::reshape(apart, shape);
}

Value convolution(Value x, Value kernel, VolumeWindow window, std::string_view padding, std::size_t rank,
                  std::string_view where) {
  window = over(window, padding, x.shape(), rank, where);
  if (rank == 1) kernel = ops::expand_dims(kernel, 0);
  if (rank < 3) return from_planes(ops::convolution(to_planes(x, rank), kernel, window.plane()), rank, x.shape());
  // The cells along the depth become channels, those of a group side by side: a convolution of planes sums over both.
  const Shape taken = x.shape(), shape = kernel.shape();
  const std::int64_t cells = window.extent[0], channels = shape[3], groups = taken[4] / channels;
  const std::int64_t depth = window.outputs(0, taken[1]);
  const Value padded = pad(x, 1, window.before[0], window.after[0]);
  std::vector<Value> slices;
  for (std::int64_t cell = 0; cell < cells; ++cell)
    slices.push_back(ops::reshape(strided(padded, 1, cell * window.dilation[0], window.strides[0], depth),
                                  {taken[0] * depth, taken[2], taken[3], groups, channels}));
  const Value planes =
      ops::reshape(ops::concatenate(slices, 4), {taken[0] * depth, taken[2], taken[3], groups * cells * channels});
  const Value flat =
      ops::reshape(ops::transpose(kernel, {1, 2, 0, 3, 4}), {shape[1], shape[2], cells * channels, shape[4]});
  const Value y = ops::convolution(planes, flat, window.plane());
  return ops::reshape(y, {taken[0], depth, y.shape()[1], y.shape()[2], shape[4]});
}

}  // namespace etude::spatial
