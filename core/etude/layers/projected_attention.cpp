#include "etude/layers/projected_attention.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/layers/detail/causal_mask.hpp"
#include "etude/layers/shape_trace.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

Value both(Value a, Value b) { return !a ? b : !b ? a : ops::logical_and(a, b); }

/// The inverse permutation of axes.
std::vector<std::uint8_t> inverse(const std::vector<std::uint8_t>& order) {
  std::vector<std::uint8_t> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<std::uint8_t>(i);
  return result;
}

template <class Attends>
Value mask_of_steps(const char* name, std::int64_t steps, std::int64_t sources, Attends attends) {
  if (ShapeTrace::pass() != ShapeTrace::Pass::none)  // such steps may be many
    return Graph::current().constant(1, DType::boolean, {steps, sources});
  Tensor mask({steps, sources}, DType::boolean);
  const auto data = mask.data<bool>();
  for (std::int64_t i = 0; i < steps; ++i)
    for (std::int64_t j = 0; j < sources; ++j) data[static_cast<std::size_t>(i * sources + j)] = attends(i, j);
  return Graph::current().read(Variable(name, mask, false));
}

}  // namespace

Value causal_mask(std::int64_t steps, std::int64_t sources) {
  return mask_of_steps("causal_mask", steps, sources, [](std::int64_t i, std::int64_t j) { return j <= i; });
}

Value band_mask(std::int64_t steps, std::int64_t sources, std::int64_t width) {
  return mask_of_steps("band_mask", steps, sources,
                       [width](std::int64_t i, std::int64_t j) { return std::max(i, j) - std::min(i, j) < width; });
}

void ProjectedAttention::set_window(const std::optional<std::int64_t>& window) {
  check(window.value_or(1) > 0, ErrorKind::value, where(), "sliding_window = ", window.value_or(0),
        " - expected a positive number - set sliding_window, or leave it out.");
  window_ = window;
}

std::vector<LayerPtr> ProjectedAttention::layers() const {
  return dropout_ ? std::vector<LayerPtr>{dropout_} : std::vector<LayerPtr>{};
}

ProjectedAttention::Projection ProjectedAttention::project(const std::string& name, const Shape& kernel,
                                                           std::size_t inputs) {
  Projection result;
  Weight weight = kernel_;
  weight.name = name + "/kernel";
  weight.shape = kernel;
  result.kernel = add_weight(weight);
  if (!use_bias_) return result;
  weight = bias_;
  weight.name = name + "/bias";
  weight.shape = kernel.slice(inputs, kernel.rank());
  result.bias = add_weight(weight);
  return result;
}

void ProjectedAttention::build_projections(const std::vector<Shape>& shapes, const Heads& heads,
                                           const std::vector<std::size_t>& axes, const Shape& features) {
  const Shape &query = shapes[0], &value = shapes[shapes.size() > 1 ? 1 : 0],
              &key = shapes.size() > 2 ? shapes[2] : value;
  heads_ = heads;
  axes_ = axes;
  query_ = project("query", {query[-1], heads.queries, heads.key_dim}, 1);
  key_ = project("key", {key[-1], heads.keys, heads.key_dim}, 1);
  if (use_gate_) gate_ = project("gate", {query[-1], heads.queries, heads.value_dim}, 1);
  value_ = project("value", {value[-1], heads.keys, heads.value_dim}, 1);
  Shape output{heads.queries, heads.value_dim};
  for (const std::int64_t extent : features) output.append(extent);
  output_ = project("attention_output", output, 2);
}

/// Multiplies x's last `inputs` axes by the kernel, and adds the bias: the kernel's other axes replace them.
Value ProjectedAttention::projected(Value x, const Projection& projection, std::size_t inputs) const {
  const Shape& kernel = projection.kernel.shape();
  const Shape in = kernel.slice(0, inputs), out = kernel.slice(inputs, kernel.rank());
  Shape shape = x.shape().slice(0, x.shape().rank() - inputs);
  check(x.shape().slice(shape.rank(), x.shape().rank()) == in, ErrorKind::shape, where(), "input of shape ", x.shape(),
        " for \"", projection.kernel.name(), "\" of shape ", kernel,
        " - expected the features for which it was built - build a new layer or check the data.");
  const Value rows = ops::reshape(ops::cast(x, compute_dtype()), {shape.size(), in.size()});
  Value y = ops::matmul(rows, ops::reshape(value_of(projection.kernel), {in.size(), out.size()}));
  if (projection.bias) y = y + ops::reshape(value_of(projection.bias), {out.size()});
  for (const std::int64_t extent : out) shape.append(extent);
  return ops::reshape(y, shape);
}

/// The order from [batch, .., heads, dim] with `rank` axes to batches, heads, attention axes, dim.
std::vector<std::uint8_t> ProjectedAttention::order(std::size_t rank) const {
  std::vector<std::uint8_t> result;
  for (std::size_t axis = 0; axis < rank - 2; ++axis)
    if (std::ranges::find(axes_, axis) == axes_.end()) result.push_back(static_cast<std::uint8_t>(axis));
  result.push_back(static_cast<std::uint8_t>(rank - 2));
  for (const std::size_t axis : axes_) result.push_back(static_cast<std::uint8_t>(axis));
  result.push_back(static_cast<std::uint8_t>(rank - 1));
  return result;
}

Value ProjectedAttention::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(),
       " - expected a list of query and value - pass {x, x} for self-attention.");
}

Outputs ProjectedAttention::call_with(const std::vector<Value>& inputs, bool training) {
  if (inputs.size() == 1) return call(inputs[0], training);
  check(inputs.size() <= 4, ErrorKind::value, where(), inputs.size(),
        " inputs - expected {query, value, key, attention_mask} - remove the others.");
  const auto input = [&](std::size_t i) { return i < inputs.size() ? inputs[i] : Value{}; };
  return attend_to({.query = input(0),
                    .value = input(1),
                    .key = input(2),
                    .attention_mask = input(3),
                    .use_causal_mask = false,
                    .training = training})
      .output;
}

Attended ProjectedAttention::attend(const AttentionInputs& given) {
  const std::vector<Value> x = accept({given.query, given.value, given.key});
  AttentionInputs inputs = given;
  inputs.query = x[0];
  inputs.value = x[1];
  inputs.key = x[2];
  Attended attended = attend_to(inputs);
  attended.output = attended.output.with_mask(mask_of(x, attended.output));
  return attended;
}

/// The source steps that count for each step, for broadcasting to [batch, heads, steps, source steps]; empty: all.
Value ProjectedAttention::mask_for(const AttentionInputs& inputs) const {
  const std::int64_t steps = inputs.query.shape()[1], sources = inputs.value.shape()[1];
  Value mask = inputs.attention_mask ? ops::cast(inputs.attention_mask, DType::boolean) : Value{};
  if (inputs.query.mask()) mask = both(mask, ops::expand_dims(inputs.query.mask(), 2));
  for (const Value& source : {inputs.value, inputs.key})
    if (source && source.mask()) mask = both(mask, ops::expand_dims(source.mask(), 1));
  if (inputs.use_causal_mask) mask = both(mask, causal_mask(steps, sources));
  if (window_) mask = both(mask, band_mask(steps, sources, *window_));
  if (!mask) return mask;
  check(axes_.size() == 1 && inputs.query.shape().rank() == 3 && mask.shape().rank() <= 4, ErrorKind::shape, where(),
        "a mask of shape ", mask.shape(), " for a query of shape ", inputs.query.shape(),
        " - expected no mask unless the query is [batch, steps, features] - omit it.");
  return mask.shape().rank() == 3 ? ops::expand_dims(mask, 1) : mask;
}

/// A mask that broadcasts to [batch, heads, steps, source steps], for scores [batch, heads of keys, steps of all
/// queries of that head, source steps].
Value ProjectedAttention::by_key_heads(Value mask, std::int64_t steps) const {
  const std::int64_t repeats = heads_.queries / heads_.keys;
  if (repeats == 1) return mask;
  while (mask.shape().rank() < 4) mask = ops::expand_dims(mask, 0);
  const Shape& shape = mask.shape();
  const bool by_head = shape[1] > 1;
  const std::int64_t batch = shape[0], heads = by_head ? heads_.keys : 1, sources = shape[3];
  const Value apart = ops::reshape(mask, {batch, heads, by_head ? repeats : 1, shape[2], sources});
  return ops::reshape(ops::broadcast_to(apart, {batch, heads, repeats, steps, sources}),
                      {batch, heads, repeats * steps, sources});
}

Attended ProjectedAttention::attend_to(const AttentionInputs& inputs) {
  const Value key = inputs.key ? inputs.key : inputs.value;
  check(inputs.value && inputs.value.shape().rank() == inputs.query.shape().rank() &&
            inputs.value.shape().without(-1) == key.shape().without(-1),
        ErrorKind::shape, where(), "a query of shape ", inputs.query.shape(), ", a value of shape ",
        inputs.value ? inputs.value.shape() : Shape{}, " and a key of shape ", key ? key.shape() : Shape{},
        " - expected value and key with the same steps, and as many axes as the query - check the data.");
  const std::size_t rank = inputs.query.shape().rank() + 1, batches = rank - 2 - axes_.size();
  const std::vector<std::uint8_t> heads_first = order(rank);
  Shape attended_shape;
  // [.., heads of keys, steps, dim], with all attention axes as one. The query heads of a key head follow each other,
  // so their steps are steps of the key head.
  const auto by_heads = [&](Value x, const Projection& projection, double times = 1) {
    const Value y = ops::transpose(projected(x, projection, 1) * times, heads_first);
    attended_shape = y.shape();
    Shape shape = y.shape().slice(0, batches);
    shape.append(heads_.keys);
    shape.append(y.shape().slice(batches, rank - 1).size() / heads_.keys);
    shape.append(y.shape()[-1]);
    return ops::reshape(y, shape);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(heads_.key_dim));
  // In float16, a product that is scaled afterwards may overflow.
  const double before = is_half(compute_dtype()) ? scale : 1;
  const Value k = by_heads(key, key_), v = by_heads(inputs.value, value_), q = by_heads(inputs.query, query_, before);
  Value scores = ops::matmul(q, k, false, true) * (scale / before);
  // A large number within the range of float16.
  const double absent = scores.dtype() == DType::float16 ? -3e4 : -1e9;
  if (const Value mask = mask_for(inputs)) {
    const Value allowed = by_key_heads(mask, inputs.query.shape()[1]);
    scores = scores + (1 - ops::cast(allowed, scores.dtype())) * absent;
  }
  scores = ops::softmax(scores);
  const Value weights = dropout_ ? (*dropout_)(scores, inputs.training) : scores;
  attended_shape[-1] = heads_.value_dim;
  Value mixed = ops::transpose(ops::reshape(ops::matmul(weights, v), attended_shape), inverse(heads_first));
  if (use_gate_) mixed = mixed * ops::sigmoid(projected(inputs.query, gate_, 1));
  Shape by_query = scores.shape().slice(0, batches);
  by_query.append(heads_.queries);
  by_query.append(attended_shape.slice(batches + 1, rank - 1).size());
  by_query.append(scores.shape()[-1]);
  return {projected(mixed, output_, 2), ops::reshape(scores, by_query)};
}

}  // namespace etude
