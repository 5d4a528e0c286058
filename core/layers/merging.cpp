#include "etude/layers/merging.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Value MergeLayer::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(),
       " - expected a list of inputs - pass {a, b}.");
}

Value MergeLayer::call_with(const std::vector<Value>& inputs, bool training) {
  if (inputs.size() == 1) return call(inputs.front(), training);
  std::size_t rank = 0;
  for (const Value& x : inputs) {
    check(x && x.shape().rank() > 0 && x.shape()[0] == inputs.front().shape()[0], ErrorKind::shape, where(),
          "inputs of shapes ", inputs.front().shape(), " and ", x ? x.shape() : Shape{},
          " - expected equal batch sizes - check the data.");
    rank = std::max(rank, x.shape().rank());
  }
  Value result;
  for (Value x : inputs) {
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

}  // namespace etude
