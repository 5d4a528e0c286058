#include "etude/layers/merging.hpp"

#include <algorithm>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/detail/normalized.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

namespace {

/// Keras's promotion: integers next to floats become those floats. With `adds`, bytes become int32. Keras 3.15.1 and
/// tf-keras 2.21 differ: there the layer itself adds uint8 modulo 256 (200 and 200 give 144), and bool to bool. But
/// Keras's models first cast bytes to the float32 of their inputs, by default, and get 400; our models keep bytes, so
/// the sum needs a larger dtype.
std::vector<Value> promoted(std::vector<Value> inputs, bool adds) {
  if (std::ranges::any_of(inputs, [](const Value& x) { return !x; })) return inputs;
  const auto other = std::ranges::find_if(inputs, [](const Value& x) { return is_floating(x.dtype()); });
  const DType dtype = other == inputs.end() ? DType::int32 : other->dtype();
  const bool alike = std::ranges::all_of(inputs, [&](const Value& x) { return x.dtype() == inputs.front().dtype(); });
  if (!alike || (adds && size_of(inputs.front().dtype()) == 1))
    for (Value& x : inputs) x = ops::cast(x, dtype);
  return inputs;
}

/// x where the mask, of x's first axes, is true; else the other.
Value where_counted(Value mask, Value x, Value other) {
  while (mask.shape().rank() < x.shape().rank()) mask = ops::expand_dims(mask, -1);
  return ops::where(mask, x, other);
}

/// Whether an entry counts in any of two inputs, if both have masks.
Value either(Value a, Value b) { return a.mask() && b.mask() ? ops::logical_or(a.mask(), b.mask()) : Value{}; }

/// An op of two inputs. Entries that count in only one of them are unchanged.
Value of_counted(Value (*op)(Value, Value), Value a, Value b) {
  if (b.mask()) b = where_counted(b.mask(), b, a).with_mask(b.mask());
  const Value first = a.mask() ? where_counted(a.mask(), a, b) : a;
  return op(first, b).with_mask(either(a, b));
}

}  // namespace

Value MergeLayer::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(),
       " - expected a list of inputs - pass {a, b}.");
}

Outputs MergeLayer::call_with(const std::vector<Value>& inputs, bool training) {
  if (inputs.size() == 1) return call(inputs.front(), training);
  check_count(inputs.size());
  std::size_t rank = 0;
  for (const Value& x : inputs) {
    check(x && x.shape().rank() > 0 && x.shape()[0] == inputs.front().shape()[0], ErrorKind::shape, where(),
          "inputs of shapes ", inputs.front().shape(), " and ", x ? x.shape() : Shape{},
          " - expected equal batch sizes - check the data.");
    rank = std::max(rank, x.shape().rank());
  }
  Value result;
  const std::vector<Value> alike = promoted(inputs, true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Value x = alike[i];
    while (x.shape().rank() < rank) x = ops::expand_dims(x, 1);
    x = x.with_mask(inputs[i].mask());
    result = result ? merge(result, x) : x;
  }
  return merged(result, inputs.size());
}

Value MergeLayer::mask_of(const std::vector<Value>& inputs, Value) const {
  Value mask;
  for (const Value& x : inputs) {
    if (!x.mask()) return {};
    mask = mask ? ops::logical_or(mask, x.mask()) : x.mask();
  }
  return mask;
}

Value Add::merge(Value a, Value b) const { return a + b; }

Value Multiply::merge(Value a, Value b) const {
  const auto counted = [](Value x) { return x.mask() ? where_counted(x.mask(), x, ops::scalar(1, x)) : x; };
  const Value y = counted(a) * counted(b), mask = either(a, b);
  return mask ? where_counted(mask, y, ops::scalar(0, y)).with_mask(mask) : y;
}

Value Average::merge(Value a, Value b) const { return a + b; }
Value Average::merged(Value all, std::size_t count) const {
  return (is_floating(all.dtype()) ? all : ops::cast(all, compute_dtype())) * (1 / static_cast<double>(count));
}
Value Maximum::merge(Value a, Value b) const { return of_counted(ops::maximum, a, b); }
Value Minimum::merge(Value a, Value b) const { return of_counted(ops::minimum, a, b); }
Value Subtract::merge(Value a, Value b) const { return a - b; }
void Subtract::check_count(std::size_t count) const {
  check(count == 2, ErrorKind::value, where(), count, " inputs - expected two - pass {a, b}.");
}

Dot::Dot(const DotOptions& options) : Layer(class_entry<Dot>, options), options_(options) {
  check(options.axes.all().size() == 1 || options.axes.all().size() == 2, ErrorKind::value, where(),
        "axes = ", options.axes, " - expected one axis of both inputs, or one for each - set axes.");
  cast_integers();
}

Value Dot::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(), " - expected two - pass {a, b}.");
}

Outputs Dot::call_with(const std::vector<Value>& inputs, bool training) {
  if (inputs.size() == 1) return call(inputs.front(), training);
  check(inputs.size() == 2 && inputs[0] && inputs[1], ErrorKind::value, where(), inputs.size(),
        " inputs - expected two - pass {a, b}.");
  Shape rest;
  std::int64_t entries[2];
  const auto prepared = [&](std::size_t i) {
    const std::vector<std::int64_t>& axes = options_.axes.all();
    Value x = inputs[i];
    const std::size_t axis = x.shape().axis(static_cast<std::ptrdiff_t>(axes[axes.size() == 1 ? 0 : i]), where());
    check(axis > 0, ErrorKind::shape, where(), "axes = ", options_.axes, " for inputs of shapes ", inputs[0].shape(),
          " and ", inputs[1].shape(), " - expected axes behind the batch axis - set axes.");
    entries[i] = x.shape()[static_cast<std::ptrdiff_t>(axis)];
    if (options_.normalize) x = ops::normalized(x, {static_cast<std::ptrdiff_t>(axis)}, epsilon());
    std::vector<std::uint8_t> order;
    for (std::size_t other = 0; other < x.shape().rank(); ++other)
      if (other != axis) order.push_back(static_cast<std::uint8_t>(other));
    order.push_back(static_cast<std::uint8_t>(axis));
    x = ops::transpose(x, order);
    const Shape own = x.shape().slice(1, x.shape().rank() - 1);
    for (const std::int64_t extent : own) rest.append(extent);
    return ops::reshape(x, {x.shape()[0], own.size(), entries[i]});
  };
  rest.append(inputs[0].shape()[0]);
  const Value a = prepared(0), b = prepared(1);
  check(entries[0] == entries[1] && a.shape()[0] == b.shape()[0], ErrorKind::shape, where(), "inputs of shapes ",
        inputs[0].shape(), " and ", inputs[1].shape(), ", axes = ", options_.axes,
        " - expected equal batch sizes, and axes of one extent - set axes.");
  if (rest.rank() == 1) rest.append(1);
  return ops::reshape(ops::matmul(a, b, false, true), rest);
}

Concatenate::Concatenate(ConcatenateOptions options)
    : Layer(class_entry<Concatenate>, std::move(options)), options_(described_options<ConcatenateOptions>()) {}

Value Concatenate::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(),
       " - expected a list of inputs - pass {a, b}.");
}

Outputs Concatenate::call_with(const std::vector<Value>& inputs, bool training) {
  if (inputs.size() == 1) return call(inputs.front(), training);
  return ops::concatenate(promoted(inputs, false), options_.axis);
}

/// Whether each step, or sample, counts; if features are concatenated, in any input.
Value Concatenate::mask_of(const std::vector<Value>& inputs, Value y) const {
  const auto axis = static_cast<std::ptrdiff_t>(y.shape().axis(options_.axis, where()));
  std::size_t rank = 0;
  for (const Value& x : inputs)
    if (x.mask()) rank = std::max(rank, x.mask().shape().rank());
  if (rank == 0) return {};
  std::vector<Value> masks;
  Value any;
  for (const Value& x : inputs) {
    const Shape shape = x.shape().slice(0, rank);
    const Value own = x.mask() ? x.mask() : Graph::current().constant(1, DType::boolean, shape);
    masks.push_back(own);
    any = any ? ops::logical_or(any, own) : own;
  }
  return axis < static_cast<std::ptrdiff_t>(rank) ? ops::concatenate(masks, axis) : any;
}

Add::Add(MergeOptions options) : MergeLayer(class_entry<Add>, std::move(options)) {}
Multiply::Multiply(MergeOptions options) : MergeLayer(class_entry<Multiply>, std::move(options)) {}
Average::Average(MergeOptions options) : MergeLayer(class_entry<Average>, std::move(options)) {}
Maximum::Maximum(MergeOptions options) : MergeLayer(class_entry<Maximum>, std::move(options)) {}
Minimum::Minimum(MergeOptions options) : MergeLayer(class_entry<Minimum>, std::move(options)) {}
Subtract::Subtract(MergeOptions options) : MergeLayer(class_entry<Subtract>, std::move(options)) {}

}  // namespace etude
