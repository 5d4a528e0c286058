#include "etude/layers/merging.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
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

}  // namespace

Value MergeLayer::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(),
       " - expected a list of inputs - pass {a, b}.");
}

Outputs MergeLayer::call_with(const std::vector<Value>& inputs, bool training) {
  if (inputs.size() == 1) return call(inputs.front(), training);
  std::size_t rank = 0;
  for (const Value& x : inputs) {
    check(x && x.shape().rank() > 0 && x.shape()[0] == inputs.front().shape()[0], ErrorKind::shape, where(),
          "inputs of shapes ", inputs.front().shape(), " and ", x ? x.shape() : Shape{},
          " - expected equal batch sizes - check the data.");
    rank = std::max(rank, x.shape().rank());
  }
  Value result;
  for (Value x : promoted(inputs, true)) {
    while (x.shape().rank() < rank) x = ops::expand_dims(x, 1);
    result = result ? merge(result, x) : x;
  }
  return result;
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

/// Whether each step, or sample, counts; if features are concatenated, in all inputs.
Value Concatenate::mask_of(const std::vector<Value>& inputs, Value y) const {
  const auto axis = static_cast<std::ptrdiff_t>(y.shape().axis(options_.axis, where()));
  std::size_t rank = 0;
  for (const Value& x : inputs)
    if (x.mask()) rank = std::max(rank, x.mask().shape().rank());
  if (rank == 0) return {};
  std::vector<Value> masks;
  Value all;
  for (const Value& x : inputs) {
    const Shape shape = x.shape().slice(0, rank);
    const Value own = x.mask() ? x.mask() : Graph::current().constant(1, DType::boolean, shape);
    masks.push_back(own);
    all = all ? ops::logical_and(all, own) : own;
  }
  return axis < static_cast<std::ptrdiff_t>(rank) ? ops::concatenate(masks, axis) : all;
}

}  // namespace etude
