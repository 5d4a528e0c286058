/// Ops of Keras that move elements.
#include <algorithm>

#include "etude/base/detail/heap_sort.hpp"
#include "etude/ops/arithmetic.hpp"
#include "etude/ops/arrangement.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/saving/detail/op_builders.hpp"

namespace etude::builders {
namespace {

using A = const OpArguments&;

std::ptrdiff_t rank_of(Value x) { return static_cast<std::ptrdiff_t>(x.shape().rank()); }

/// Axes of a tensor of `rank` axes, counted from the front.
std::vector<std::int64_t> counted(A a, const char* name, std::ptrdiff_t rank) {
  std::vector<std::int64_t> axes = a.option<Integers>(name).all();
  for (std::int64_t& axis : axes) {
    check(axis >= -rank && axis < rank, ErrorKind::data, a.where(), name, " = ", axis, " of ", rank,
          " axes - expected one of them - check the text.");
    if (axis < 0) axis += rank;
  }
  return axes;
}

Value ordered(Value x, const std::vector<std::int64_t>& order) {
  return ops::transpose(x, std::vector<std::uint8_t>(order.begin(), order.end()));
}

/// The axis of the config; if it is null, x becomes one axis.
std::ptrdiff_t axis_of(A a, Value& x) {
  const auto axis = a.option<std::optional<std::ptrdiff_t>>("axis");
  if (!axis) x = ops::reshape(x, {-1});
  return static_cast<std::ptrdiff_t>(x.shape().axis(axis.value_or(0), a.where()));
}

Value filled(Value like, std::ptrdiff_t axis, std::int64_t extent, double number) {
  Shape shape = like.shape();
  shape[axis] = extent;
  return ops::full(shape, number, like.dtype());
}

/// A text may name any extent: an op per entry of a large one would fill the memory.
void check_few(A a, std::int64_t parts) {
  check(parts <= 65536, ErrorKind::data, a.where(), parts, " parts - expected 65536 or fewer - check the text.");
}

/// x[.., start:stop:step, ..] by Python's rules.
Value strided(Value x, std::ptrdiff_t axis, const Json& slice, const std::string& where) {
  const std::int64_t n = x.shape()[axis];
  auto step = field_in<std::int64_t>(slice, "step", where, 1);
  auto start = field_in<std::optional<std::int64_t>>(slice, "start", where, {});
  auto stop = field_in<std::optional<std::int64_t>>(slice, "stop", where, {});
  check(step != 0, ErrorKind::data, where, "a slice with a step of 0 - expected another step - check the text.");
  const auto place = [&](std::int64_t i) { return i < 0 ? std::max<std::int64_t>(i + n, -1) : std::min(i, n); };
  if (step < 0) {
    x = ops::reverse(x, axis);
    step = step < -n ? n : -step;
    if (start) start = n - 1 - place(*start);
    if (stop) stop = n - 1 - place(*stop);
  } else {
    if (start) start = place(*start);
    if (stop) stop = place(*stop);
  }
  step = std::clamp<std::int64_t>(step, 1, std::max<std::int64_t>(n, 1));
  const std::int64_t first = std::clamp<std::int64_t>(start.value_or(0), 0, n);
  const std::int64_t last = std::clamp<std::int64_t>(stop.value_or(n), first, n);
  const std::int64_t count = (last - first + step - 1) / step;
  if (step == 1) return ops::slice(x, axis, first, count);
  // The entries in rows of `step`, of which the first are chosen.
  const std::int64_t have = std::min(count * step, n - first);
  Value y = ops::slice(x, axis, first, have);
  if (have < count * step) y = ops::concatenate({y, filled(y, axis, count * step - have, 0)}, axis);
  Shape shape = y.shape();
  shape[axis] = count;
  const Value rows = ops::reshape(y, shape.with(static_cast<std::size_t>(axis) + 1, step));
  return ops::squeeze(ops::slice(rows, axis + 1, 0, 1), axis + 1);
}

bool is_class(const Json& json, const char* name) { return json.is_object() && json.value("class_name", "") == name; }

}  // namespace

DType dtype_of_keras(A a, const char* name) {
  const auto dtype = a.option<std::string>(name, std::string(name_of(floatx())));
  return dtype == "int64" ? DType::int32 : dtype_from_name(dtype);
}

Outputs full_like(A a, double number) {
  const Value x = a.value();
  return ops::full(x.shape(), number, a.entry("dtype").is_null() ? x.dtype() : dtype_of_keras(a, "dtype"));
}

Outputs where(A a) {
  check(a.count() == 3, ErrorKind::data, a.where(), a.count(), " operands - expected 3 - check the text.");
  const std::vector<Value> x = a.alike(1, 2);
  return ops::where(ops::to_bool(a.value()), x[0], x[1]);
}

Value moved(Value x, std::ptrdiff_t from, std::ptrdiff_t to) {
  if (from == to) return x;
  std::vector<std::int64_t> order;
  for (std::ptrdiff_t i = 0; i < rank_of(x); ++i)
    if (i != from) order.push_back(i);
  order.insert(order.begin() + to, from);
  return ordered(x, order);
}

Outputs transpose(A a) {
  const Value x = a.value();
  return ordered(x, counted(a, "axes", rank_of(x)));
}
Outputs swapaxes(A a) {
  return ops::swapaxes(a.value(), a.option<std::ptrdiff_t>("axis1"), a.option<std::ptrdiff_t>("axis2"));
}
Outputs moveaxis(A a) {
  return ops::moveaxis(a.value(), a.option<Integers>("source"), a.option<Integers>("destination"));
}
Outputs expand_dims(A a) {
  Value x = a.value();
  const auto added = static_cast<std::ptrdiff_t>(a.option<Integers>("axis").all().size());
  std::vector<std::int64_t> axes = counted(a, "axis", rank_of(x) + added);
  heap_sort(axes);
  for (const std::int64_t axis : axes) x = ops::expand_dims(x, static_cast<std::ptrdiff_t>(axis));
  return x;
}
/// Without axes, the batch axis is kept, whose extent may be 1.
Outputs squeeze(A a) {
  Value x = a.value();
  std::vector<std::int64_t> axes = counted(a, "axis", rank_of(x));
  if (axes.empty())
    for (std::ptrdiff_t i = 1; i < rank_of(x); ++i)
      if (x.shape()[i] == 1) axes.push_back(i);
  heap_sort(axes, std::greater());
  for (const std::int64_t axis : axes) x = ops::squeeze(x, static_cast<std::ptrdiff_t>(axis));
  return x;
}
Outputs flip(A a) { return ops::flip(a.value(), a.option<Integers>("axis")); }
Outputs roll(A a) { return ops::roll(a.value(), a.option<Integers>("shift"), a.option<Integers>("axis")); }
Outputs repeat(A a) {
  return ops::repeat(a.value(), a.option<Integers>("repeats"), a.option<std::optional<std::ptrdiff_t>>("axis"));
}
Outputs tile(A a) { return ops::tile(a.value(), a.option<Integers>("repeats")); }
Outputs pad(A a) {
  const Json& given = a.entry("pad_width");
  const Margins width = given.is_array() ? Margins(a.option<std::vector<Integers>>("pad_width"))
                                         : Margins(a.option<std::int64_t>("pad_width"));
  return ops::pad(a.value(), width, a.option("constant_values", 0.0));
}
Outputs stack(A a) { return ops::stack(a.list(), a.option<std::ptrdiff_t>("axis")); }
Outputs split(A a) {
  const Value x = a.value();
  const auto axis = static_cast<std::ptrdiff_t>(x.shape().axis(a.option<std::ptrdiff_t>("axis"), a.where()));
  const std::int64_t n = x.shape()[axis];
  if (!a.entry("indices_or_sections").is_array()) {
    const auto parts = a.option<std::int64_t>("indices_or_sections");
    check_few(a, parts);
    return ops::split(x, std::min(parts, n + 1), axis);
  }
  std::vector<Value> parts;
  std::int64_t first = 0;
  std::vector<std::int64_t> ends = a.option<Integers>("indices_or_sections").all();
  ends.push_back(n);
  for (const std::int64_t end : ends) {
    const std::int64_t last = std::clamp<std::int64_t>(end < 0 ? end + n : end, first, n);
    parts.push_back(ops::slice(x, axis, first, last - first));
    first = last;
  }
  return parts;
}
Outputs unstack(A a) {
  const Value x = a.value();
  const auto axis = a.option<std::ptrdiff_t>("axis");
  check_few(a, x.shape()[axis]);
  return ops::unstack(x, axis);
}

Outputs get_item(A a) {
  Value x = a.value();
  const Json key = a.argument(1).is_array() ? a.argument(1) : Json::array({a.argument(1)});
  const auto named =
      std::ranges::count_if(key, [](const Json& item) { return !item.is_null() && !is_class(item, "__ellipsis__"); });
  const std::ptrdiff_t others = rank_of(x) - named;
  check(others >= 0, ErrorKind::data, a.where(), "a key of ", named, " entries for ", rank_of(x),
        " axes - expected as many or fewer - check the text.");
  std::ptrdiff_t axis = 0;
  for (const Json& item : key) {
    if (item.is_null()) {
      x = ops::expand_dims(x, axis++);
    } else if (is_class(item, "__ellipsis__")) {
      axis += others;
    } else if (is_class(item, "__slice__")) {
      x = strided(x, axis, config_in(item), a.where());
      ++axis;
    } else {
      std::int64_t index = 0;
      read_field(item, index, {a.where(), "key"});
      x = ops::squeeze(ops::slice(x, axis, index < 0 ? index + x.shape()[axis] : index, 1), axis);
    }
  }
  return x;
}
Outputs slice(A a) {
  Value x = a.value();
  std::vector<std::int64_t> starts;
  read_field(a.argument(1), starts, {a.where(), "start_indices"});
  const auto counts = a.option<std::vector<std::int64_t>>("shape");
  const auto rank = x.shape().rank();
  check(starts.size() == rank && counts.size() == rank, ErrorKind::data, a.where(), starts.size(), " starts and ",
        counts.size(), " extents for ", rank, " axes - expected one for each - check the text.");
  for (std::size_t i = 0; i < rank; ++i) x = ops::slice(x, static_cast<std::ptrdiff_t>(i), starts[i], counts[i]);
  return x;
}
/// An index of a constant may be negative, and then counts from the end.
Outputs take(A a) {
  Value x = a.value(), indices = ops::cast(a.value(1), DType::int32);
  const std::ptrdiff_t axis = axis_of(a, x), added = rank_of(indices);
  if (a.constant(1)) {
    const Value zero = ops::scalar(0, indices), count = ops::scalar(static_cast<double>(x.shape()[axis]), indices);
    indices = ops::where(ops::less(indices, zero), indices + count, indices);
  }
  const Value rows = ops::take(moved(x, axis, 0), indices);
  if (axis == 0) return rows;
  std::vector<std::int64_t> order;
  for (std::ptrdiff_t i = 0; i < rank_of(rows); ++i)
    order.push_back(i < axis ? added + i : i < axis + added ? i - axis : i);
  return ordered(rows, order);
}
Outputs one_hot(A a) {
  const Value x = ops::cast(a.value(), DType::int32);
  const auto axis = a.option<std::ptrdiff_t>("axis", -1), last = rank_of(x);
  const Value y = ops::one_hot(x, a.option<std::int64_t>("num_classes"), DType::float32);
  check(axis >= -last - 1 && axis <= last, ErrorKind::data, a.where(), "axis = ", axis, " of ", last + 1,
        " axes - expected one of them - check the text.");
  return ops::cast(moved(y, last, axis < 0 ? axis + last + 1 : axis), dtype_of_keras(a, "dtype"));
}

}  // namespace etude::builders
