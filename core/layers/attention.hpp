#pragma once

#include "etude/base/integers.hpp"
#include "etude/layers/noise.hpp"

namespace etude {

struct MultiHeadAttentionOptions {
  std::int64_t num_heads = 0;
  std::int64_t key_dim = 0;
  std::optional<std::int64_t> value_dim = {};  ///< Default: key_dim.
  double dropout = 0;
  bool use_bias = true;
  Integers output_shape = {};    ///< Default: the query's features.
  Integers attention_axes = {};  ///< Default: all but batch and features.
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("num_heads", self.num_heads);
    visit("key_dim", self.key_dim);
    visit("value_dim", self.value_dim);
    visit("dropout", self.dropout);
    visit("use_bias", self.use_bias);
    visit("output_shape", self.output_shape);
    visit("attention_axes", self.attention_axes);
    visit("kernel_initializer", self.kernel_initializer);
    visit("bias_initializer", self.bias_initializer);
    visit("kernel_regularizer", self.kernel_regularizer);
    visit("bias_regularizer", self.bias_regularizer);
    visit("activity_regularizer", self.activity_regularizer);
    visit("seed", self.seed);
    visit("name", self.name);
    visit("dtype", self.dtype);
    visit("trainable", self.trainable);
  }
};

/// What attention is applied to.
struct AttentionInputs {
  Value query = {}, value = {};
  Value key = {};             ///< Default: value.
  Value attention_mask = {};  ///< [batch, steps, source steps]: true where a step attends; fewer axes broadcast.
  bool use_causal_mask = false;
  bool training = false;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("query", self.query);
    visit("value", self.value);
    visit("key", self.key);
    visit("attention_mask", self.attention_mask);
    visit("use_causal_mask", self.use_causal_mask);
    visit("training", self.training);
  }
};
/// What comes of it: output [batch, steps, features], scores [batch, heads, steps, source steps].
struct Attended {
  Value output, scores;
};

/// Multi-head attention: query [batch, steps, n], value and key [batch, source steps, n] -> [batch, steps, n]. Called
/// on a list {query, value, key, attention_mask} of which the last two may be left out; attend() takes a causal mask
/// too, and gives the scores. Inputs may have more axes: those that are not attention axes are batches. Masks of its
/// inputs and attention masks are taken where one axis is attended over; scores that they exclude are lowered by 1e9
/// . Weights: query, key and value kernels [n, heads, dim] and biases [heads, dim]; the output's kernel [heads,
/// value_dim, features] and bias [features].
/// Throws Error(value) for numbers below 1 or axes that are no attention axes, Error(shape) for inputs that do not
/// match each other or what it was built for. Source: Vaswani et al., "Attention Is All You Need" (2017);
/// keras/src/layers/attention/multi_head_attention.py.
class MultiHeadAttention : public Layer {
 public:
  explicit MultiHeadAttention(MultiHeadAttentionOptions options);
  void build_for(const std::vector<Shape>& shapes) override;
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;
  std::vector<LayerPtr> layers() const override;
  Attended attend(const AttentionInputs& inputs);

 private:
  struct Projection {
    Variable kernel, bias;
  };
  Projection project(const std::string& name, const Shape& kernel, std::size_t inputs);
  Value projected(Value x, const Projection& projection, std::size_t inputs) const;
  Attended attend_to(const AttentionInputs& inputs);
  Value mask_for(const AttentionInputs& inputs) const;
  std::vector<std::uint8_t> order(std::size_t rank) const;

  MultiHeadAttentionOptions options_;
  std::vector<std::size_t> axes_;
  Projection query_, key_, value_, output_;
  std::shared_ptr<Dropout> dropout_;
};

}  // namespace etude
