#include "etude/ops/pooling.hpp"

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

DType index_dtype(const Window& window) { return window.cells() <= 256 ? DType::uint8 : DType::int32; }

Shape pooled(const Shape& x, const Window& window, std::string_view where) {
  check(x.rank() == 4, ErrorKind::shape, where, "shape ", x,
        " - expected [batch, height, width, channels] - reshape it.");
  ops::check_window(window, where);
  for (std::size_t axis = 0; axis < 2; ++axis)
    check(window.dilation[axis] == 1 && window.before[axis] < window.extent[axis] &&
              window.after[axis] < window.extent[axis],
          ErrorKind::value, where, "a window of extent ", window.extent[axis], ", dilation ", window.dilation[axis],
          ", padding ", window.before[axis], " and ", window.after[axis],
          " - expected no dilation, and less padding than extent - use another window.");
  const Shape y{x[0], window.outputs(0, x[1]), window.outputs(1, x[2]), x[3]};
  check(y[1] > 0 && y[2] > 0 && x[1] > 0 && x[2] > 0, ErrorKind::shape, where, "a window of ", window.extent[0], " x ",
        window.extent[1], " for an input of shape ", x,
        " - expected a window that fits - use a smaller window, or padding.");
  return y;
}

void check_float(const Value& x, std::string_view where) {
  check(is_floating(x.dtype()), ErrorKind::dtype, where, "dtype ", x.dtype(), " - expected a float - cast it.");
}

void check_index(const Value& index, const Shape& shape, const Window& window, std::string_view where) {
  check(index.shape() == shape && index.dtype() == index_dtype(window), ErrorKind::shape, where, "an index of shape ",
        index.shape(), ", ", index.dtype(), " - expected ", shape, ", ", index_dtype(window),
        " - pass the result of PoolArgMax of the same window.");
}

/// The operands of a sum with a per-channel bias: x, and the bias [channels]; empty Values for other x.
std::array<Value, 2> biased(const Value& x) {
  if (!std::holds_alternative<op::Add>(x.op())) return {};
  const Node& sum = x.graph().node(x.id());
  for (const std::size_t i : {1u, 0u}) {
    const Value other(x.graph(), sum.inputs[1 - i]), repeated(x.graph(), sum.inputs[i]);
    if (!std::holds_alternative<op::Broadcast>(repeated.op())) continue;
    const Value bias(x.graph(), x.graph().node(repeated.id()).inputs[0]);
    if (bias.shape().size() == 1 || bias.shape().size() == bias.shape()[-1]) return {other, bias};
  }
  return {};
}

}  // namespace

Meta op::PoolArgMax::infer(Operands x) const {
  check_float(x[0], "PoolArgMax");
  return {pooled(x[0].shape(), window, "PoolArgMax"), index_dtype(window)};
}
Meta op::PoolGather::infer(Operands x) const {
  check_float(x[0], "PoolGather");
  const Shape shape = pooled(x[0].shape(), window, "PoolGather");
  check_index(x[1], shape, window, "PoolGather");
  return {shape, x[0].dtype()};
}
Meta op::PoolScatter::infer(Operands x) const {
  check_float(x[0], "PoolScatter");
  const Shape expected = pooled(shape, window, "PoolScatter");
  check(x[0].shape() == expected, ErrorKind::shape, "PoolScatter", "dy of shape ", x[0].shape(), " - expected ",
        expected, ", the result of the window on ", shape, " - pass the gradient of PoolGather's result.");
  check_index(x[1], expected, window, "PoolScatter");
  return {shape, x[0].dtype()};
}

OperandGradients op::PoolGather::gradient(const Differential& d) const {
  return {ops::pool_scatter(d.dy, d.x[1], window, d.x[0].shape())};
}
OperandGradients op::PoolScatter::gradient(const Differential& d) const {
  return {ops::pool_gather(d.dy, d.x[1], window)};
}

namespace ops {

Value max_pool(Value x, const Window& window) {
  if (std::holds_alternative<op::Relu>(x.op()))
    return relu(max_pool(Value(x.graph(), x.graph().node(x.id()).inputs[0]), window));
  if (const auto [sum, bias] = biased(x); sum) return max_pool(sum, window) + bias;
  return pool_gather(x, pool_argmax(x, window), window);
}

Value pool_argmax(Value x, const Window& window) { return x.graph().append(op::PoolArgMax{window}, {x}); }
Value pool_gather(Value x, Value index, const Window& window) {
  return x.graph().append(op::PoolGather{window}, {x, index});
}
Value pool_scatter(Value dy, Value index, const Window& window, const Shape& shape) {
  return dy.graph().append(op::PoolScatter{window, shape}, {dy, index});
}

}  // namespace ops
}  // namespace etude
