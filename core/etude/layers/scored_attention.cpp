#include "etude/layers/scored_attention.hpp"

#include "etude/base/error.hpp"
#include "etude/layers/detail/causal_mask.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

void ScoredAttention::set_dropout(double rate, const std::optional<std::int64_t>& seed, const std::string& dtype) {
  if (rate != 0)
    dropout_ = std::make_shared<Dropout>(
        DropoutOptions{.rate = rate, .seed = seed, .name = name() + "_dropout", .dtype = dtype});
  cast_integers();
}

std::vector<LayerPtr> ScoredAttention::layers() const {
  return dropout_ ? std::vector<LayerPtr>{dropout_} : std::vector<LayerPtr>{};
}

Value ScoredAttention::call(Value x, bool) {
  fail(ErrorKind::value, where(), "called on one input of shape ", x.shape(),
       " - expected a list of query and value - pass {x, x} for self-attention.");
}

Outputs ScoredAttention::call_with(const std::vector<Value>& inputs, bool training) {
  if (inputs.size() == 1) return call(inputs[0], training);
  return result_of(inputs, {.training = training}).output;
}

ScoredAttention::Result ScoredAttention::attend(const std::vector<Value>& inputs, const CallOptions& options) {
  const std::vector<Value> accepted = accept(inputs);
  Result result = result_of(accepted, options);
  result.output = result.output.with_mask(mask_of(accepted, result.output));
  return result;
}

Value ScoredAttention::mask_of(const std::vector<Value>& inputs, Value) const { return inputs[0].mask(); }

ScoredAttention::Result ScoredAttention::result_of(const std::vector<Value>& inputs, const CallOptions& options) {
  check((inputs.size() == 2 || inputs.size() == 3) && inputs[0] && inputs[1], ErrorKind::value, where(), inputs.size(),
        " inputs - expected {query, value} or {query, value, key} - pass them.");
  const Value query = inputs[0], value = inputs[1], key = inputs.size() > 2 && inputs[2] ? inputs[2] : value;
  const Shape &q = query.shape(), &v = value.shape(), &k = key.shape();
  check(q.rank() == 3 && v.rank() == 3 && k.rank() == 3 && q[0] == v[0] && k[0] == v[0] && k[1] == v[1] && q[2] == k[2],
        ErrorKind::shape, where(), "a query of shape ", q, ", a value of shape ", v, " and a key of shape ", k,
        " - expected [batch, queries, features], and [batch, keys, features] of the same features - check the data.");
  Value all = scores(query, key), mask;
  if (value.mask()) mask = ops::expand_dims(value.mask(), 1);
  if (options.use_causal_mask) {
    const Value causal = causal_mask(q[1], v[1]);
    mask = mask ? ops::logical_and(mask, causal) : causal;
  }
  if (mask) all = all - (1 - ops::cast(mask, all.dtype())) * (all.dtype() == DType::float16 ? 65504.0 : 1e9);
  const Value weights = ops::softmax(all);
  Value output = ops::matmul(dropout_ ? (*dropout_)(weights, options.training) : weights, value);
  if (query.mask()) output = output * ops::expand_dims(ops::cast(query.mask(), output.dtype()), 2);
  return {output, weights};
}

Value ScoredAttention::additive_scores(Value query, Value key, Value inner, Value outer) {
  Value sums = ops::expand_dims(query, 2) + ops::expand_dims(key, 1);
  if (inner) sums = sums * inner;
  const Value terms = ops::tanh(sums);
  return ops::sum(outer ? terms * outer : terms, {-1});
}

Attention::Attention(AttentionOptions options)
    : ScoredAttention(class_entry<Attention>, std::move(options)), options_(described_options<AttentionOptions>()) {
  check(options_.score_mode == "dot" || options_.score_mode == "concat", ErrorKind::value, where(), "score_mode = \"",
        options_.score_mode, "\" - expected \"dot\" or \"concat\" - choose one.");
}

void Attention::build_for(const std::vector<Shape>&) {
  if (options_.use_scale) scale_ = add_weight({"scale", {}, "ones"});
  if (options_.score_mode == "concat") concat_score_weight_ = add_weight({"concat_score_weight", {}, "ones"});
}

Value Attention::scores(Value query, Value key) const {
  const Value scale = scale_ ? value_of(scale_) : Value{};
  if (concat_score_weight_) return additive_scores(query, key, scale, {}) * value_of(concat_score_weight_);
  const Value products = ops::matmul(query, key, false, true);
  return scale ? products * scale : products;
}

AdditiveAttention::AdditiveAttention(AdditiveAttentionOptions options)
    : ScoredAttention(class_entry<AdditiveAttention>, std::move(options)),
      options_(described_options<AdditiveAttentionOptions>()) {}

void AdditiveAttention::build_for(const std::vector<Shape>& shapes) {
  check(shapes[0].rank() == 3, ErrorKind::shape, where(), "a query of shape ", shapes[0],
        " - expected [batch, queries, features] - check the data.");
  if (options_.use_scale) scale_ = add_weight({"scale", {shapes[0][-1]}, "glorot_uniform"});
}

Value AdditiveAttention::scores(Value query, Value key) const {
  return additive_scores(query, key, {}, scale_ ? value_of(scale_) : Value{});
}

}  // namespace etude
