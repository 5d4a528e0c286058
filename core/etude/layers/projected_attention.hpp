#pragma once

#include "etude/layers/noise.hpp"

namespace etude {

/// The inputs of attention.
struct AttentionInputs {
  Value query = {}, value = {};
  Value key = {};             ///< Default: value.
  Value attention_mask = {};  ///< [batch, steps, source steps]: true where a step attends; fewer axes broadcast.
  bool use_causal_mask = false;
  bool training = false;

  template <class O = AttentionInputs> static constexpr auto fields() {
    return option_rows(option<&O::query>("[batch, queries, features]."), option<&O::value>("[batch, keys, features]."),
                       option<&O::key>("[batch, keys, features]. Default: value."),
                       option<&O::attention_mask>("[batch, queries, keys], true where a query may attend to a key."),
                       option<&O::use_causal_mask>("Whether a query attends only to keys up to its own position."),
                       option<&O::training>("Whether dropout is applied."));
  }
};
/// The results of attention: output [batch, steps, features], scores [batch, heads, steps, source steps].
struct Attended {
  /// The result, and the weights of the keys.
  Value output, scores;
};

/// Attention of several heads, which are projections of the inputs: query [batch, steps, n], value and key [batch,
/// source steps, n] -> [batch, steps, n]. Called on a list {query, value, key, attention_mask}; the last two may be
/// omitted. attend() also accepts a causal mask, and returns the scores. Masks of the inputs and attention masks apply;
/// scores that they exclude are lowered by 1e9, in float16 by 3e4. With a sliding_window a step attends only to
/// source steps that are less than that many steps away. With use_gate, what the heads attend to is multiplied by
/// sigmoid(query · gate kernel + gate bias) before the output's projection. Weights: query, key, gate and value kernels
/// [n, heads, dim] and biases [heads, dim]; the output's kernel [heads, dim, features] and bias [features].
/// Throws Error(value) for a sliding_window below 1, Error(shape) for inputs that do not match each other or the shapes
/// for which it was built. Sources: Vaswani et al., "Attention Is All You Need" (2017); Qiu et al., "Gated Attention
/// for Large Language Models" (2025).
class ProjectedAttention : public Layer {
 public:
  Value call(Value x, bool training) final;
  Outputs call_with(const std::vector<Value>& inputs, bool training) final;
  std::vector<LayerPtr> layers() const final;
  /// The result and the scores of a call.
  Attended attend(const AttentionInputs& inputs);

 protected:
  /// The heads of queries, those of keys and values, and the features of each.
  struct Heads {
    /// The heads of queries, and those of keys and values.
    std::int64_t queries = 0, keys = 0;
    /// The features of a query and a key, and those of a value.
    std::int64_t key_dim = 0, value_dim = 0;
  };
  /// Of a class whose options have a dropout, a gate, a window, and the initializers of a kernel and a bias.
  template <class Options>
  ProjectedAttention(const ClassEntry& entry, Options options) : Layer(entry, std::move(options)) {
    const auto& o = described_options<Options>();
    use_bias_ = o.use_bias;
    use_gate_ = o.use_gate;
    kernel_.initializer = o.kernel_initializer;
    kernel_.regularizer = o.kernel_regularizer;
    kernel_.constraint = o.kernel_constraint;
    bias_.initializer = o.bias_initializer;
    bias_.regularizer = o.bias_regularizer;
    bias_.constraint = o.bias_constraint;
    set_activity_regularizer(o.activity_regularizer);
    set_window(o.sliding_window);
    if (o.dropout != 0)
      dropout_ = std::make_shared<Dropout>(
          DropoutOptions{.rate = o.dropout, .seed = o.seed, .name = name() + "_dropout", .dtype = o.dtype});
  }
  /// Creates the variables, for attention over `axes` of the query, and results with `features` as last axes.
  void build_projections(const std::vector<Shape>& shapes, const Heads& heads, const std::vector<std::size_t>& axes,
                         const Shape& features);

 private:
  struct Projection {
    Variable kernel, bias;
  };
  void set_window(const std::optional<std::int64_t>& window);
  Projection project(const std::string& name, const Shape& kernel, std::size_t inputs);
  Value projected(Value x, const Projection& projection, std::size_t inputs) const;
  Attended attend_to(const AttentionInputs& inputs);
  Value mask_for(const AttentionInputs& inputs) const;
  Value by_key_heads(Value mask, std::int64_t steps) const;
  std::vector<std::uint8_t> order(std::size_t rank) const;

  bool use_bias_ = true, use_gate_ = false;
  std::optional<std::int64_t> window_;
  Weight kernel_, bias_;
  Heads heads_;
  std::vector<std::size_t> axes_;
  Projection query_, key_, gate_, value_, output_;
  std::shared_ptr<Dropout> dropout_;
};

}  // namespace etude
