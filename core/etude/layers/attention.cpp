#include "etude/layers/attention.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/layers/detail/causal_mask.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

std::size_t axis_at(const Shape& shape, std::size_t back) { return shape.rank() - back; }

Value both(Value a, Value b) { return !a ? b : !b ? a : ops::logical_and(a, b); }

/// The inverse permutation of axes.
std::vector<std::uint8_t> inverse(const std::vector<std::uint8_t>& order) {
  std::vector<std::uint8_t> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<std::uint8_t>(i);
  return result;
}

}  // namespace

Value causal_mask(std::int64_t steps, std::int64_t sources) {
  Tensor mask({steps, sources}, DType::boolean);
  const auto data = mask.data<bool>();
  for (std::int64_t i = 0; i < steps; ++i)
    for (std::int64_t j = 0; j < sources; ++j) data[static_cast<std::size_t>(i * sources + j)] = j <= i;
  return Graph::current().read(Variable("causal_mask", mask, false));
}

MultiHeadAttention::MultiHeadAttention(MultiHeadAttentionOptions options)
    : Layer(class_entry<MultiHeadAttention>, std::move(options)),
      options_(described_options<MultiHeadAttentionOptions>()),
      value_dim_(options_.value_dim.value_or(options_.key_dim)) {
  check(options_.num_heads > 0 && options_.key_dim > 0 && value_dim_ > 0, ErrorKind::value, where(),
        "num_heads = ", options_.num_heads, ", key_dim = ", options_.key_dim, ", value_dim = ", value_dim_,
        " - expected positive numbers - set both.");
  if (options_.dropout != 0)
    dropout_ = std::make_shared<Dropout>(DropoutOptions{
        .rate = options_.dropout, .seed = options_.seed, .name = name() + "_dropout", .dtype = options_.dtype});
  set_activity_regularizer(options_.activity_regularizer);
}

std::vector<LayerPtr> MultiHeadAttention::layers() const {
  return dropout_ ? std::vector<LayerPtr>{dropout_} : std::vector<LayerPtr>{};
}

MultiHeadAttention::Projection MultiHeadAttention::project(const std::string& name, const Shape& kernel,
                                                           std::size_t inputs) {
  Projection result;
  result.kernel = add_weight({.name = name + "/kernel",
                              .shape = kernel,
                              .initializer = options_.kernel_initializer,
                              .regularizer = options_.kernel_regularizer,
                              .constraint = options_.kernel_constraint});
  if (options_.use_bias)
    result.bias = add_weight({.name = name + "/bias",
                              .shape = kernel.slice(inputs, kernel.rank()),
                              .initializer = options_.bias_initializer,
                              .regularizer = options_.bias_regularizer,
                              .constraint = options_.bias_constraint});
  return result;
}

void MultiHeadAttention::build_for(const std::vector<Shape>& shapes) {
  const Shape &query = shapes[0], &value = shapes[shapes.size() > 1 ? 1 : 0],
              &key = shapes.size() > 2 ? shapes[2] : value;
  check(query.rank() >= 3, ErrorKind::shape, where(), "a query of shape ", query,
        " - expected [batch, steps, features] - reshape the data.");
  axes_.clear();
  for (const std::int64_t axis : options_.attention_axes.all())
    axes_.push_back(query.axis(static_cast<std::ptrdiff_t>(axis), where()));
  for (std::size_t axis = 1; options_.attention_axes.empty() && axis + 1 < query.rank(); ++axis) axes_.push_back(axis);
  for (const std::size_t axis : axes_)
    check(axis > 0 && axis + 1 < query.rank() && std::ranges::count(axes_, axis) == 1, ErrorKind::value, where(),
          "attention_axes = ", options_.attention_axes, " for a query of shape ", query,
          " - expected different axes between batch and features - set attention_axes.");
  const std::int64_t heads = options_.num_heads, value_dim = value_dim_;
  query_ = project("query", {query[-1], heads, options_.key_dim}, 1);
  key_ = project("key", {key[-1], heads, options_.key_dim}, 1);
  value_ = project("value", {value[-1], heads, value_dim}, 1);
  Shape output{heads, value_dim};
  for (const std::int64_t extent : options_.output_shape.all()) output.append(extent);
  if (options_.output_shape.empty()) output.append(query[-1]);
  output_ = project("attention_output", output, 2);
}

/// Multiplies x's last `inputs` axes by the kernel, and adds the bias: the kernel's other axes replace them.
Value MultiHeadAttention::projected(Value x, const Projection& projection, std::size_t inputs) const {
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
std::vector<std::uint8_t> MultiHeadAttention::order(std::size_t rank) const {
  std::vector<std::uint8_t> result;
  for (std::size_t axis = 0; axis < rank - 2; ++axis)
    if (std::ranges::find(axes_, axis) == axes_.end()) result.push_back(static_cast<std::uint8_t>(axis));
  result.push_back(static_cast<std::uint8_t>(rank - 2));
  for (const std::size_t axis : axes_) result.push_back(static_cast<std::uint8_t>(axis));
  result.push_back(static_cast<std::uint8_t>(rank - 1));
  return result;
}

Value MultiHeadAttention::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(),
       " - expected a list of query and value - pass {x, x} for self-attention.");
}

Outputs MultiHeadAttention::call_with(const std::vector<Value>& inputs, bool training) {
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

Attended MultiHeadAttention::attend(const AttentionInputs& given) {
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
Value MultiHeadAttention::mask_for(const AttentionInputs& inputs) const {
  Value mask = inputs.attention_mask ? ops::cast(inputs.attention_mask, DType::boolean) : Value{};
  if (inputs.query.mask()) mask = both(mask, ops::expand_dims(inputs.query.mask(), 2));
  for (const Value& source : {inputs.value, inputs.key})
    if (source && source.mask()) mask = both(mask, ops::expand_dims(source.mask(), 1));
  if (inputs.use_causal_mask) mask = both(mask, causal_mask(inputs.query.shape()[1], inputs.value.shape()[1]));
  if (!mask) return mask;
  check(axes_.size() == 1 && inputs.query.shape().rank() == 3 && mask.shape().rank() <= 4, ErrorKind::shape, where(),
        "a mask of shape ", mask.shape(), " for a query of shape ", inputs.query.shape(),
        " - expected no mask unless the query is [batch, steps, features] - omit it.");
  return mask.shape().rank() == 3 ? ops::expand_dims(mask, 1) : mask;
}

Attended MultiHeadAttention::attend_to(const AttentionInputs& inputs) {
  const Value key = inputs.key ? inputs.key : inputs.value;
  check(inputs.value && inputs.value.shape().rank() == inputs.query.shape().rank() &&
            inputs.value.shape().without(-1) == key.shape().without(-1),
        ErrorKind::shape, where(), "a query of shape ", inputs.query.shape(), ", a value of shape ",
        inputs.value ? inputs.value.shape() : Shape{}, " and a key of shape ", key ? key.shape() : Shape{},
        " - expected value and key with the same steps, and as many axes as the query - check the data.");
  const std::size_t rank = inputs.query.shape().rank() + 1, batches = rank - 1 - axes_.size();
  const std::vector<std::uint8_t> heads_first = order(rank);
  Shape attended_shape;
  // [.., heads, steps, dim], with all attention axes as one.
  const auto by_heads = [&](Value x, const Projection& projection, double times = 1) {
    const Value y = ops::transpose(projected(x, projection, 1) * times, heads_first);
    attended_shape = y.shape();
    Shape shape = y.shape().slice(0, batches);
    shape.append(y.shape().slice(batches, axis_at(y.shape(), 1)).size());
    shape.append(y.shape()[-1]);
    return ops::reshape(y, shape);
  };
  const double scale = 1 / std::sqrt(static_cast<double>(options_.key_dim));
  // In float16, a product that is scaled afterwards may overflow.
  const double before = is_half(compute_dtype()) ? scale : 1;
  const Value k = by_heads(key, key_), v = by_heads(inputs.value, value_), q = by_heads(inputs.query, query_, before);
  Value scores = ops::matmul(q, k, false, true) * (scale / before);
  // A large number within the range of float16.
  const double absent = scores.dtype() == DType::float16 ? -3e4 : -1e9;
  if (const Value mask = mask_for(inputs)) scores = scores + (1 - ops::cast(mask, scores.dtype())) * absent;
  scores = ops::softmax(scores);
  const Value weights = dropout_ ? (*dropout_)(scores, inputs.training) : scores;
  attended_shape[-1] = value_dim_;
  const Value mixed = ops::reshape(ops::matmul(weights, v), attended_shape);
  return {projected(ops::transpose(mixed, inverse(heads_first)), output_, 2), scores};
}

}  // namespace etude
