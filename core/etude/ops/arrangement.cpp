#include "etude/ops/arrangement.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/detail/checked.hpp"
#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/graph/detail/op.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::ops {
namespace {

std::ptrdiff_t rank_of(Value x) { return static_cast<std::ptrdiff_t>(x.shape().rank()); }

/// Axes counted from the front.
std::vector<std::ptrdiff_t> counted(Value x, const Integers& axes, const char* where) {
  std::vector<std::ptrdiff_t> result;
  for (const std::int64_t axis : axes.all())
    result.push_back(static_cast<std::ptrdiff_t>(x.shape().axis(static_cast<std::ptrdiff_t>(axis), where)));
  return result;
}

std::vector<std::uint8_t> order_of(std::ptrdiff_t rank) {
  std::vector<std::uint8_t> order;
  for (std::ptrdiff_t i = 0; i < rank; ++i) order.push_back(static_cast<std::uint8_t>(i));
  return order;
}

/// x `times` times along the axis: each entry, or all of them.
Value repeated(Value x, std::ptrdiff_t axis, std::int64_t times, bool each) {
  const std::ptrdiff_t place = each ? axis + 1 : axis;
  Shape shape = x.shape();
  const Shape wide = shape.with(static_cast<std::size_t>(place), times);
  shape[axis] = checked::multiply(wide[axis], wide[axis + 1], "repeat");
  return reshape(broadcast_to(expand_dims(x, place), wide), shape);
}

Value filled(Value like, std::ptrdiff_t axis, std::int64_t extent, double number) {
  Shape shape = like.shape();
  shape[axis] = extent;
  return full(shape, number, like.dtype());
}

/// The int32 numbers 0, 1, .., count - 1.
Value counted_up(std::int64_t count) {
  check(count >= 0 && count < (std::int64_t{1} << 31), ErrorKind::value, "arange", count,
        " numbers - expected 0 or more, and less than 2^31 - check the range.");
  return cumsum(full({count}, 1, DType::int32), 0, true);
}

/// The dtype in which numbers of `dtype` are computed: half precision has too few of them, and bytes are not computed.
DType computed_in(DType dtype) {
  if (!is_floating(dtype)) return DType::int32;
  return dtype == DType::float64 ? dtype : DType::float32;
}

/// Whether each element of the last two axes is on the diagonal k or below it.
Value is_lower(const Shape& shape, std::int64_t k, const char* where) {
  check(shape.rank() >= 2, ErrorKind::shape, where, "shape ", shape, " - expected [.., rows, columns] - reshape it.");
  const Value rows = expand_dims(counted_up(shape[-2]), 1), columns = counted_up(shape[-1]);
  return less_equal(columns, rows + static_cast<double>(k));
}

}  // namespace

Value stack(const std::vector<Value>& x, std::ptrdiff_t axis) {
  std::vector<Value> all = x;
  for (Value& each : all) each = expand_dims(each, axis);
  check(!all.empty(), ErrorKind::value, "stack", "no tensors - expected one or more - pass a list of them.");
  return concatenate(all, axis);
}

std::vector<Value> unstack(Value x, std::ptrdiff_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(x.shape().axis(axis, "unstack"));
  std::vector<Value> parts;
  for (std::int64_t i = 0; i < x.shape()[at]; ++i) parts.push_back(squeeze(slice(x, at, i, 1), at));
  return parts;
}

Value pad(Value x, const Margins& width, double number) {
  // A number, or one pair, is for all axes.
  std::vector<Integers> widths = width.entries();
  const bool is_pair =
      widths.size() == 2 && std::ranges::all_of(widths, [](const Integers& each) { return each.all().size() == 1; });
  if (is_pair) widths = {Integers{widths[0].all()[0], widths[1].all()[0]}};
  check(widths.size() == 1 || static_cast<std::ptrdiff_t>(widths.size()) == rank_of(x), ErrorKind::value, "pad",
        widths.size(), " widths for ", rank_of(x), " axes - expected a pair for each - check the widths.");
  for (std::ptrdiff_t axis = 0; axis < rank_of(x); ++axis) {
    const std::vector<std::int64_t>& ends = widths[widths.size() == 1 ? 0 : static_cast<std::size_t>(axis)].all();
    check(!ends.empty() && ends.size() <= 2 && ends.front() >= 0 && ends.back() >= 0, ErrorKind::value, "pad",
          "a width of ", width, " - expected numbers of 0 or more, two for an axis - check the widths.");
    std::vector<Value> parts{x};
    if (ends.front() > 0) parts.insert(parts.begin(), filled(x, axis, ends.front(), number));
    if (ends.back() > 0) parts.push_back(filled(x, axis, ends.back(), number));
    if (parts.size() > 1) x = concatenate(parts, axis);
  }
  return x;
}

Value flip(Value x, const Integers& axes) {
  for (std::ptrdiff_t axis = 0; axes.empty() && axis < rank_of(x); ++axis) x = reverse(x, axis);
  for (const std::ptrdiff_t axis : counted(x, axes, "flip")) x = reverse(x, axis);
  return x;
}

Value roll(Value x, const Integers& shift, const Integers& axes) {
  const Shape shape = x.shape();
  if (axes.empty()) x = reshape(x, {-1});
  const std::vector<std::ptrdiff_t> chosen = counted(x, axes.empty() ? Integers(0) : axes, "roll");
  const std::vector<std::int64_t>& shifts = shift.all();
  check(shifts.size() == 1 || shifts.size() == chosen.size(), ErrorKind::value, "roll", shifts.size(), " shifts along ",
        chosen.size(), " axes - expected one, or one for each - check the shifts.");
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const std::ptrdiff_t axis = chosen[i];
    const std::int64_t n = x.shape()[axis], by = shifts.size() == 1 ? shifts[0] : shifts[i];
    if (n == 0) continue;
    const std::int64_t last = (by % n + n) % n;
    if (last > 0) x = concatenate({slice(x, axis, n - last, last), slice(x, axis, 0, n - last)}, axis);
  }
  return reshape(x, shape);
}

Value repeat(Value x, const Integers& repeats, std::optional<std::ptrdiff_t> axis) {
  if (!axis) x = reshape(x, {-1});
  const auto at = static_cast<std::ptrdiff_t>(x.shape().axis(axis.value_or(0), "repeat"));
  const std::vector<std::int64_t>& times = repeats.all();
  const bool positive = std::ranges::all_of(times, [](std::int64_t each) { return each >= 0; });
  check(positive && (times.size() == 1 || (!times.empty() && std::ssize(times) == x.shape()[at])), ErrorKind::value,
        "repeat", "repeats = ", repeats, " of ", x.shape()[at],
        " entries - expected one number of 0 or more, or one for each entry - check the repeats.");
  if (times.size() == 1) return repeated(x, at, times[0], true);
  std::vector<Value> parts;
  for (std::size_t i = 0; i < times.size(); ++i)
    parts.push_back(repeated(slice(x, at, static_cast<std::int64_t>(i), 1), at, times[i], true));
  return concatenate(parts, at);
}

Value tile(Value x, const Integers& repeats) {
  const std::vector<std::int64_t>& times = repeats.all();
  while (rank_of(x) < std::ssize(times)) x = expand_dims(x, 0);
  for (std::size_t i = 0; i < times.size(); ++i) {
    check(times[i] >= 0, ErrorKind::value, "tile", "repeats = ", repeats,
          " - expected numbers of 0 or more - check the repeats.");
    x = repeated(x, rank_of(x) - static_cast<std::ptrdiff_t>(times.size() - i), times[i], false);
  }
  return x;
}

Value swapaxes(Value x, std::ptrdiff_t axis1, std::ptrdiff_t axis2) {
  std::vector<std::uint8_t> order = order_of(rank_of(x));
  const std::size_t first = x.shape().axis(axis1, "swapaxes"), second = x.shape().axis(axis2, "swapaxes");
  std::swap(order[first], order[second]);
  return transpose(x, order);
}

Value moveaxis(Value x, const Integers& source, const Integers& destination) {
  const std::vector<std::ptrdiff_t> from = counted(x, source, "moveaxis"), to = counted(x, destination, "moveaxis");
  const auto differ = [](std::vector<std::ptrdiff_t> axes) {
    heap_sort(axes);
    return std::ranges::adjacent_find(axes) == axes.end();
  };
  check(from.size() == to.size() && differ(from) && differ(to), ErrorKind::value, "moveaxis", "axes ", source,
        " to the places ", destination, " - expected as many places as axes, each once - check them.");
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> moves;
  for (std::size_t i = 0; i < from.size(); ++i) moves.emplace_back(to[i], from[i]);
  heap_sort(moves);
  std::vector<std::uint8_t> order;
  for (std::ptrdiff_t i = 0; i < rank_of(x); ++i)
    if (std::ranges::find(from, i) == from.end()) order.push_back(static_cast<std::uint8_t>(i));
  for (const auto& [place, axis] : moves) order.insert(order.begin() + place, static_cast<std::uint8_t>(axis));
  return transpose(x, order);
}

Value take_along_axis(Value x, Value indices, std::optional<std::ptrdiff_t> axis) {
  if (!axis) x = reshape(x, {-1}), indices = reshape(indices, {-1});
  check(x.shape().rank() == indices.shape().rank() && x.shape().rank() > 0, ErrorKind::shape, "take_along_axis",
        "indices of shape ", indices.shape(), " in shape ", x.shape(),
        " - expected as many axes, at least one - reshape them.");
  const auto at = static_cast<std::int64_t>(x.shape().axis(axis.value_or(0), "take_along_axis"));
  x = moveaxis(x, at, -1);
  indices = moveaxis(cast(indices, DType::int32), at, -1);
  const std::int64_t n = x.shape()[-1], k = indices.shape()[-1];
  Shape rows = broadcast_shapes(x.shape().without(-1), indices.shape().without(-1), "take_along_axis");
  check(checked::multiply(rows.size(), n, "take_along_axis") < (std::int64_t{1} << 31), ErrorKind::shape,
        "take_along_axis", "shape ", x.shape(), " - expected fewer than 2^31 elements - divide it.");
  const Shape of_rows = rows;
  rows.append(n);
  x = reshape(broadcast_to(x, rows), {-1});
  rows[-1] = k;
  indices = broadcast_to(indices, rows);
  // Indices in all rows together; one that is out of range stays out of it.
  const Value zero = scalar(0, indices), count = scalar(static_cast<double>(n), indices);
  const Value place = where(less(indices, zero), indices + count, indices);
  const Value first = expand_dims(reshape(counted_up(of_rows.size()), of_rows), -1) * count;
  const Value fits = logical_and(less_equal(zero, place), less(place, count));
  const Value chosen = where(fits, place + first, scalar(-1, place));
  return moveaxis(x.graph().append(op::Gather{}, {x, chosen}), -1, at);
}

std::vector<Value> meshgrid(const std::vector<Value>& x, std::string_view indexing) {
  check(indexing == "xy" || indexing == "ij", ErrorKind::value, "meshgrid", "indexing = \"", indexing,
        "\" - expected \"xy\" or \"ij\" - set it.");
  Shape shape;
  for (const Value& each : x) shape.append(each.shape().size());
  const bool exchanged = indexing == "xy" && x.size() > 1;
  std::vector<Value> grid;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Shape place;
    for (std::size_t j = 0; j < x.size(); ++j) place.append(i == j ? shape[static_cast<std::ptrdiff_t>(i)] : 1);
    const Value points = broadcast_to(reshape(x[i], place), shape);
    grid.push_back(exchanged ? swapaxes(points, 0, 1) : points);
  }
  return grid;
}

Value tril(Value x, std::int64_t k) { return where(is_lower(x.shape(), k, "tril"), x, scalar(0, x)); }
Value triu(Value x, std::int64_t k) { return where(is_lower(x.shape(), k - 1, "triu"), scalar(0, x), x); }

Value zeros_like(Value x, std::optional<DType> dtype) { return full(x.shape(), 0, dtype.value_or(x.dtype())); }
Value ones_like(Value x, std::optional<DType> dtype) { return full(x.shape(), 1, dtype.value_or(x.dtype())); }

Value arange(double start, double stop, double step, DType dtype) {
  check(step != 0, ErrorKind::value, "arange", "a step of 0 - expected another one - set it.");
  const double count = std::ceil((stop - start) / step);
  check(count < 0x1p31, ErrorKind::value, "arange", count, " numbers - expected fewer than 2^31 - check the range.");
  check(is_floating(dtype) || (start == std::trunc(start) && step == std::trunc(step)), ErrorKind::value, "arange",
        "start = ", start, " and step = ", step, " of ", dtype, " - expected whole numbers - choose a float dtype.");
  const Value numbers = cast(counted_up(static_cast<std::int64_t>(std::max(count, 0.0))), computed_in(dtype));
  return cast(numbers * step + start, dtype);
}
Value linspace(double start, double stop, std::int64_t num, bool endpoint, DType dtype) {
  const double parts = static_cast<double>(std::max<std::int64_t>(endpoint ? num - 1 : num, 1));
  const Value numbers = cast(counted_up(num), is_floating(dtype) ? computed_in(dtype) : DType::float32);
  // Of both ends, so that the last number is `stop` itself.
  return cast(numbers * (stop / parts) + (parts - numbers) * (start / parts), dtype);
}
Value eye(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t k, DType dtype) {
  const Value row = expand_dims(counted_up(rows), 1), column = counted_up(columns.value_or(rows));
  return cast(equal(column, row + static_cast<double>(k)), dtype);
}

}  // namespace etude::ops
