#include <vector>

#include "etude/graph/detail/rules.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

OperandGradients op::Slice::gradient(const Differential& d) const {
  std::vector<Value> pieces;
  const auto zeros = [&](std::int64_t extent) {
    Shape shape = d.x[0].shape();
    shape[axis] = extent;
    if (extent > 0) pieces.push_back(d.dy.graph().constant(0, d.dy.dtype(), shape));
  };
  zeros(first);
  pieces.push_back(d.dy);
  zeros(d.x[0].shape()[axis] - first - count);
  return {d.dy.graph().append(op::Concatenate{axis}, pieces)};
}

OperandGradients op::Reverse::gradient(const Differential& d) const { return {ops::reverse(d.dy, axis)}; }

OperandGradients op::Concatenate::gradient(const Differential& d) const {
  OperandGradients dx;
  std::int64_t first = 0;
  for (const Value& x : d.x) {
    dx.push_back(ops::slice(d.dy, axis, first, x.shape()[axis]));
    first += x.shape()[axis];
  }
  return dx;
}

OperandGradients op::Broadcast::gradient(const Differential& d) const { return {ops::sum_to(d.dy, d.x[0].shape())}; }
OperandGradients op::Reshape::gradient(const Differential& d) const { return {ops::reshape(d.dy, d.x[0].shape())}; }
OperandGradients op::Transpose::gradient(const Differential& d) const {
  const std::size_t rank = d.x[0].shape().rank();
  std::vector<std::uint8_t> inverse(rank);
  for (std::size_t i = 0; i < rank; ++i) inverse[order[i]] = static_cast<std::uint8_t>(i);
  return {ops::transpose(d.dy, inverse)};
}

}  // namespace etude
