#include "etude/ops/nn.hpp"

#include <numbers>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

void check_logits(const Value& logits, const char* where) {
  check(logits.shape().rank() > 0 && logits.shape()[-1] > 0 && is_floating(logits.dtype()), ErrorKind::shape, where,
        "logits of shape ", logits.shape(), ", ", logits.dtype(),
        " - expected floats of rank 1 or more, and at least one class - reshape or cast them.");
}

}  // namespace

Meta op::Softmax::infer(Operands x) const {
  check(x[0].shape().rank() > 0 && is_floating(x[0].dtype()), ErrorKind::shape, "Softmax", "shape ", x[0].shape(), ", ",
        x[0].dtype(), " - expected floats of rank 1 or more - reshape or cast them.");
  return {x[0].shape(), x[0].dtype()};
}

Meta op::SoftmaxCrossentropy::infer(Operands x) const {
  check_logits(x[0], "SoftmaxCrossentropy");
  check(x[0].shape() == x[1].shape() && x[0].dtype() == x[1].dtype(), ErrorKind::shape, "SoftmaxCrossentropy",
        "logits of shape ", x[0].shape(), " and targets of shape ", x[1].shape(), ", ", x[1].dtype(),
        " - expected equal shapes and dtypes - one-hot the targets, or use the sparse loss.");
  return {x[0].shape().without(-1), x[0].dtype()};
}

Meta op::SparseSoftmaxCrossentropy::infer(Operands x) const {
  check_logits(x[0], "SparseSoftmaxCrossentropy");
  check(x[0].shape().without(-1) == x[1].shape() && x[1].dtype() == DType::int32, ErrorKind::shape,
        "SparseSoftmaxCrossentropy", "logits of shape ", x[0].shape(), " and labels of shape ", x[1].shape(), ", ",
        x[1].dtype(), " - expected int32 labels of shape ", x[0].shape().without(-1), " - check the targets.");
  return {x[1].shape(), x[0].dtype()};
}

Meta op::Uniform::infer(Operands counter) const {
  check(counter[0].shape().rank() == 0 && counter[0].dtype() == DType::int32, ErrorKind::shape, "Uniform",
        "a counter of shape ", counter[0].shape(), ", ", counter[0].dtype(),
        " - expected an int32 scalar - read it from a variable.");
  check(is_floating(dtype) && !is_half(dtype), ErrorKind::dtype, "Uniform", "draws of dtype ", dtype,
        " - expected float32 or float64 - cast them.");
  return {shape, dtype};
}

Meta op::AllReduce::infer(Operands x) const {
  check(is_floating(x[0].dtype()) || x[0].dtype() == DType::int32, ErrorKind::dtype, "AllReduce", "dtype ",
        x[0].dtype(), " - expected float32, float64 or int32 - cast it.");
  return {x[0].shape(), x[0].dtype()};
}

OperandGradients op::Softmax::gradient(const Differential& d) const {
  return {d.y * (d.dy - ops::sum(d.dy * d.y, {-1}, true))};
}

OperandGradients op::SoftmaxCrossentropy::gradient(const Differential& d) const {
  const Value &logits = d.x[0], &targets = d.x[1], dy = ops::expand_dims(d.dy, -1);
  const Value dlogits = ops::softmax(logits) * ops::sum(targets, {-1}, true) - targets;
  return {dlogits * dy, -ops::log_softmax(logits) * dy};
}

OperandGradients op::SparseSoftmaxCrossentropy::gradient(const Differential& d) const {
  const Value hot = ops::one_hot(d.x[1], d.x[0].shape()[-1], d.x[0].dtype());
  return {(ops::softmax(d.x[0]) - hot) * ops::expand_dims(d.dy, -1)};
}

// The gradient of an all-reduce is the all-reduce of the gradients.
OperandGradients op::AllReduce::gradient(const Differential& d) const { return {ops::all_reduce(d.dy)}; }

namespace ops {

Value softmax(Value x) { return x.graph().append(op::Softmax{}, {x}); }

Value log_softmax(Value x) {
  const Value shifted = x - stop_gradient(max(x, {-1}, true));
  return shifted - log(sum(exp(shifted), {-1}, true));
}

Value softmax_crossentropy(Value logits, Value targets) {
  return logits.graph().append(op::SoftmaxCrossentropy{}, {logits, targets});
}

Value sparse_softmax_crossentropy(Value logits, Value labels) {
  const Value losses = logits.graph().append(op::SparseSoftmaxCrossentropy{}, {logits, cast(labels, DType::int32)});
  logits.graph().expect({.numbers = labels.id(),
                         .count = logits.shape()[-1],
                         .where = "sparse_softmax_crossentropy",
                         .what = "label",
                         .of = "classes",
                         .advice = "check the labels, or replace ignored labels before",
                         .mask = logits.mask() ? logits.mask().id() : -1});
  return losses;
}

Value sigmoid_crossentropy(Value logits, Value targets) {
  // softplus(x) = max(x, 0) + log1p(exp(-|x|))
  return softplus(logits) - logits * targets;
}

Value uniform(const Shape& shape, DType dtype, std::uint64_t seed, std::uint32_t stream, Value counter) {
  if (is_half(dtype)) return cast(uniform(shape, DType::float32, seed, stream, counter), dtype);
  const Shard& shard = counter.graph().shard();
  const std::int64_t row_size = shard.replicas > 1 ? shard.row_size(shape) : 0;
  return counter.graph().append(op::Uniform{seed, stream, shape, dtype, 0, row_size}, {counter});
}

Value normal(const Shape& shape, DType dtype, std::uint64_t seed, std::uint32_t stream, Value counter) {
  if (is_half(dtype)) return cast(normal(shape, DType::float32, seed, stream, counter), dtype);
  Graph& graph = counter.graph();
  std::vector<Value> drawn;
  if (const Shard& shard = graph.shard(); shard.replicas > 1) {
    // The pairs of numbers that one replica would draw for the whole batch.
    const std::int64_t row_size = shard.row_size(shape);
    const std::int64_t second = row_size ? shard.whole_size(shape) : shape.size();
    for (const std::int64_t first : {std::int64_t{0}, second})
      drawn.push_back(
          expand_dims(graph.append(op::Uniform{seed, stream, shape, dtype, first, row_size}, {counter}), 0));
  } else {
    Shape pairs{2};
    for (const std::int64_t extent : shape) pairs.append(extent);
    drawn = split(uniform(pairs, dtype, seed, stream, counter), 2, 0);
  }
  const Value radius = sqrt(log(1.0 - drawn[0]) * -2.0), angle = drawn[1] * (2 * std::numbers::pi);
  return reshape(radius * cos(angle), shape);
}

Value dropout(Value x, double rate, std::uint64_t seed, std::uint32_t stream, Value counter) {
  if (rate == 0) return x;
  const Value zero = scalar(0, x);
  if (rate == 1) return x * zero;
  const Value drawn = uniform(x.shape(), is_half(x.dtype()) ? DType::float32 : x.dtype(), seed, stream, counter);
  const Value kept = less_equal(scalar(rate, drawn), drawn);
  return where(kept, x * (1 / (1 - rate)), zero);
}

Value all_reduce(Value x) { return x.graph().shard().replicas == 1 ? x : x.graph().append(op::AllReduce{}, {x}); }

Value replica_part(Value x) {
  const int replicas = x.graph().shard().replicas;
  return replicas == 1 ? x : x / static_cast<double>(replicas);
}

}  // namespace ops
}  // namespace etude
