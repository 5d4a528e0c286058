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
  Choice<Constraint> kernel_constraint = {}, bias_constraint = {};
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  static constexpr auto fields() {
    return option_rows(
        option<&MultiHeadAttentionOptions::num_heads>("Number of heads.", Need::required),
        option<&MultiHeadAttentionOptions::key_dim>("Features of each head of query and key.", Need::required),
        option<&MultiHeadAttentionOptions::value_dim>("Features of each head of the value. Default: key_dim."),
        option<&MultiHeadAttentionOptions::dropout>("Fraction of the attention scores that is set to 0 in training."),
        option<&MultiHeadAttentionOptions::use_bias>("Whether a bias is added."),
        option<&MultiHeadAttentionOptions::output_shape>(
            "Shape of the features of the result. Default: those of the query."),
        option<&MultiHeadAttentionOptions::attention_axes>(
            "Axes over which attention is applied. Default: all but batch and features."),
        weight_fields<MultiHeadAttentionOptions>(),
        option<&MultiHeadAttentionOptions::seed>("Seed of the random draws. Default: derived from the global seed."),
        layer_fields<MultiHeadAttentionOptions>());
  }
};

/// The inputs of attention.
struct AttentionInputs {
  Value query = {}, value = {};
  Value key = {};             ///< Default: value.
  Value attention_mask = {};  ///< [batch, steps, source steps]: true where a step attends; fewer axes broadcast.
  bool use_causal_mask = false;
  bool training = false;

  static constexpr auto fields() {
    return option_rows(
        option<&AttentionInputs::query>("[batch, queries, features]."),
        option<&AttentionInputs::value>("[batch, keys, features]."),
        option<&AttentionInputs::key>("[batch, keys, features]. Default: value."),
        option<&AttentionInputs::attention_mask>("[batch, queries, keys], true where a query may attend to a key."),
        option<&AttentionInputs::use_causal_mask>("Whether a query attends only to keys up to its own position."),
        option<&AttentionInputs::training>("Whether dropout is applied."));
  }
};
/// The results of attention: output [batch, steps, features], scores [batch, heads, steps, source steps].
struct Attended {
  /// The result, and the weights of the keys.
  Value output, scores;
};

/// Multi-head attention: query [batch, steps, n], value and key [batch, source steps, n] -> [batch, steps, n]. Called
/// on a list {query, value, key, attention_mask}; the last two may be omitted. attend() also accepts a causal mask, and
/// returns the scores. Inputs may have more axes: those that are not attention axes are batch axes. With one attention
/// axis, masks of the inputs and attention masks apply; scores that they exclude are lowered by 1e9 (A-20). Weights:
/// query, key and value kernels [n, heads, dim] and biases [heads, dim]; the output's kernel [heads, value_dim,
/// features] and bias [features].
/// Throws Error(value) for numbers below 1 or invalid attention axes, Error(shape) for inputs that do not match each
/// other or the shapes for which it was built. Source: Vaswani et al., "Attention Is All You Need" (2017);
/// keras/src/layers/attention/multi_head_attention.py.
class MultiHeadAttention : public Layer {
 public:
  using Options = MultiHeadAttentionOptions;
  using Product = MultiHeadAttention;
  static constexpr ClassText about{
      .name = "MultiHeadAttention",
      .text = "Attention of several heads: [batch, queries, features] over [batch, keys, features].",
      .example = R"({"num_heads": 2, "key_dim": 4})"};
  explicit MultiHeadAttention(MultiHeadAttentionOptions options);
  void build_for(const std::vector<Shape>& shapes) override;
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;
  std::vector<LayerPtr> layers() const override;
  /// The result and the scores of a call.
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

  const MultiHeadAttentionOptions& options_;
  std::int64_t value_dim_;
  std::vector<std::size_t> axes_;
  Projection query_, key_, value_, output_;
  std::shared_ptr<Dropout> dropout_;
};

namespace layers {
inline constexpr Factory<MultiHeadAttention> multi_head_attention;
}  // namespace layers

}  // namespace etude
