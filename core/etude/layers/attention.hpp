#pragma once

#include "etude/base/integers.hpp"
#include "etude/layers/projected_attention.hpp"

namespace etude {

/// The rows of the options that MultiHeadAttention and GroupedQueryAttention share, from the dropout on.
template <class Options> constexpr auto attention_fields() {
  constexpr auto axes = [] {
    if constexpr (requires { &Options::attention_axes; })
      return option_rows(
          option<&Options::output_shape>("Shape of the features of the result. Default: those of the query."),
          option<&Options::attention_axes>(
              "Axes over which attention is applied. Default: all but batch and features."));
    else
      return option_rows();
  };
  return option_rows(
      option<&Options::dropout>("Fraction of the attention scores that is set to 0 in training."),
      option<&Options::use_bias>("Whether a bias is added."), axes(),
      option<&Options::sliding_window>("A query attends only to keys that are less than this many steps away. Default: "
                                       "to all."),
      option<&Options::flash_attention>(
          "Accepted, because calls of Keras have it: the step is compiled in either case."),
      weight_fields<Options>(),
      option<&Options::use_gate>("Whether the result of each head is multiplied by a sigmoid of the query, which is "
                                 "learned."),
      option<&Options::seed>("Seed of the random draws. Default: derived from the global seed."),
      layer_fields<Options>());
}

struct MultiHeadAttentionOptions {
  std::int64_t num_heads = 0;
  std::int64_t key_dim = 0;
  std::optional<std::int64_t> value_dim = {};  ///< Default: key_dim.
  double dropout = 0;
  bool use_bias = true;
  Integers output_shape = {};                       ///< Default: the query's features.
  Integers attention_axes = {};                     ///< Default: all but batch and features.
  std::optional<std::int64_t> sliding_window = {};  ///< Default: no limit.
  bool flash_attention = false;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  Choice<Constraint> kernel_constraint = {}, bias_constraint = {};
  bool use_gate = false;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = MultiHeadAttentionOptions> static constexpr auto fields() {
    return option_rows(option<&O::num_heads>("Number of heads.", Need::required),
                       option<&O::key_dim>("Features of each head of query and key.", Need::required),
                       option<&O::value_dim>("Features of each head of the value. Default: key_dim."),
                       attention_fields<O>());
  }
};

/// Attention of num_heads heads: query [batch, steps, n], value and key [batch, source steps, n] -> [batch, steps, n],
/// or [batch, steps, *output_shape]. Inputs may have more axes: those that are not attention axes are batch axes. Masks
/// and a sliding_window apply with one attention axis, to inputs of three axes. Throws Error(value) for numbers below 1
/// or invalid attention axes. Source: keras/src/layers/attention/multi_head_attention.py.
class MultiHeadAttention : public ProjectedAttention {
 public:
  using Options = MultiHeadAttentionOptions;
  using Product = MultiHeadAttention;
  static constexpr ClassText about{
      .name = "MultiHeadAttention",
      .text = "Attention of several heads: [batch, queries, features] over [batch, keys, features].",
      .example = R"({"num_heads": 2, "key_dim": 4})"};
  explicit MultiHeadAttention(MultiHeadAttentionOptions options);
  void build_for(const std::vector<Shape>& shapes) override;

 private:
  const MultiHeadAttentionOptions& options_;
};

struct GroupedQueryAttentionOptions {
  std::int64_t head_dim = 0;
  std::int64_t num_query_heads = 0;
  std::int64_t num_key_value_heads = 0;
  double dropout = 0;
  bool use_bias = true;
  std::optional<std::int64_t> sliding_window = {};  ///< Default: no limit.
  bool flash_attention = false;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  Choice<Constraint> kernel_constraint = {}, bias_constraint = {};
  bool use_gate = false;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = GroupedQueryAttentionOptions> static constexpr auto fields() {
    return option_rows(option<&O::head_dim>("Features of each head.", Need::required),
                       option<&O::num_query_heads>("Number of heads of the query.", Need::required),
                       option<&O::num_key_value_heads>(
                           "Number of heads of key and value, a divisor of num_query_heads.", Need::required),
                       attention_fields<O>());
  }
};

/// Attention whose query heads share the heads of key and value, as many of them each: with one head of key and value,
/// multi-query attention. query [batch, steps, n], value and key [batch, source steps, n] -> [batch, steps, n]. Throws
/// Error(value) for numbers below 1, and for num_query_heads that is no multiple of num_key_value_heads; Error(shape)
/// for inputs that do not have three axes. Source: Ainslie et al., "GQA" (2023);
/// keras/src/layers/attention/grouped_query_attention.py.
class GroupedQueryAttention : public ProjectedAttention {
 public:
  using Options = GroupedQueryAttentionOptions;
  using Product = GroupedQueryAttention;
  static constexpr ClassText about{
      .name = "GroupedQueryAttention",
      .text =
          "Attention whose query heads share heads of key and value: [batch, queries, features] over [batch, keys, "
          "features].",
      .aliases = "GroupQueryAttention",
      .example = R"({"head_dim": 4, "num_query_heads": 4, "num_key_value_heads": 2})"};
  explicit GroupedQueryAttention(GroupedQueryAttentionOptions options);
  void build_for(const std::vector<Shape>& shapes) override;

 private:
  const GroupedQueryAttentionOptions& options_;
};

namespace layers {
inline constexpr Factory<GroupedQueryAttention> grouped_query_attention;
inline constexpr Factory<MultiHeadAttention> multi_head_attention;
}  // namespace layers

}  // namespace etude
