#pragma once

#include "etude/layers/noise.hpp"

namespace etude {

/// Attention of one head: query [batch, queries, features], value [batch, keys, features] and key, by default the value
/// -> [batch, queries, features of the value]. Called on a list {query, value, key}, of which the key may be left out.
/// Scores that the value's mask or the causal mask excludes are lowered by 1e9, in float16 by 65504; masked queries
/// give zeros. Throws Error(value) for another number of inputs and for rates out of [0, 1], Error(shape) for
/// inputs that do not match. Source: keras/src/layers/attention/attention.py.
class ScoredAttention : public Layer {
 public:
  using Product = ScoredAttention;
  Value call(Value x, bool training) final;
  Outputs call_with(const std::vector<Value>& inputs, bool training) final;
  std::vector<LayerPtr> layers() const final;

  /// The options of a call.
  struct CallOptions {
    /// Whether a query attends only to keys up to its own position.
    bool use_causal_mask = false;
    /// Whether dropout is applied.
    bool training = false;
  };
  /// The result, and the shares [batch, queries, keys] that the keys have in it.
  struct Result {
    /// The result, and the shares.
    Value output, scores;
  };
  /// The result and the scores of a call.
  Result attend(const std::vector<Value>& inputs, const CallOptions& options);

 protected:
  /// Of a class whose options have a dropout and a seed.
  template <class Options>
  ScoredAttention(const ClassEntry& entry, Options options) : Layer(entry, std::move(options)) {
    const auto& o = described_options<Options>();
    set_dropout(o.dropout, o.seed, o.dtype);
  }
  /// The scores of [batch, queries, features] and [batch, keys, features]: [batch, queries, keys].
  virtual Value scores(Value query, Value key) const = 0;
  Value mask_of(const std::vector<Value>& inputs, Value y) const final;
  /// Sums of tanh(query + key) · scale over the features, for each pair of them.
  static Value additive_scores(Value query, Value key, Value inner, Value outer);

 private:
  void set_dropout(double rate, const std::optional<std::int64_t>& seed, const std::string& dtype);
  Result result_of(const std::vector<Value>& inputs, const CallOptions& options);

  std::shared_ptr<Dropout> dropout_;
};

struct AttentionOptions {
  bool use_scale = false;
  std::string score_mode = "dot";
  double dropout = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = AttentionOptions> static constexpr auto fields() {
    return option_rows(option<&O::use_scale>("Whether scores are multiplied by a number that is learned."),
                       option<&O::score_mode>("\"dot\": query · key; \"concat\": the sum of tanh(query + key)."),
                       option<&O::dropout>("Fraction of the scores that is set to 0 in training."),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."),
                       layer_fields<O>());
  }
};

/// Weights: scale [] with use_scale, and concat_score_weight [] of score_mode "concat". Throws Error(value) for another
/// score_mode. Source: Luong et al. (2015); keras/src/layers/attention/attention.py.
class Attention : public ScoredAttention {
 public:
  using Options = AttentionOptions;
  static constexpr ClassText about{"Attention",
                                   "Attention by products: [batch, queries, features] over [batch, keys, features]."};
  explicit Attention(AttentionOptions options = {});
  void build_for(const std::vector<Shape>& shapes) override;

 protected:
  Value scores(Value query, Value key) const override;

 private:
  const AttentionOptions& options_;
  Variable scale_, concat_score_weight_;
};

struct AdditiveAttentionOptions {
  bool use_scale = true;
  double dropout = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;
  template <class O = AdditiveAttentionOptions> static constexpr auto fields() {
    return option_rows(option<&O::use_scale>("Whether features are multiplied by numbers that are learned."),
                       option<&O::dropout>("Fraction of the scores that is set to 0 in training."),
                       option<&O::seed>("Seed of the random draws. Default: derived from the global seed."),
                       layer_fields<O>());
  }
};

/// Scores are the sums of scale · tanh(query + key) over the features. Weights: scale [features] with use_scale.
/// Source: Bahdanau et al. (2015); keras/src/layers/attention/additive_attention.py.
class AdditiveAttention : public ScoredAttention {
 public:
  using Options = AdditiveAttentionOptions;
  static constexpr ClassText about{"AdditiveAttention",
                                   "Attention by sums: [batch, queries, features] over [batch, keys, features]."};
  explicit AdditiveAttention(AdditiveAttentionOptions options = {});
  void build_for(const std::vector<Shape>& shapes) override;

 protected:
  Value scores(Value query, Value key) const override;

 private:
  const AdditiveAttentionOptions& options_;
  Variable scale_;
};

namespace layers {
inline constexpr Factory<AdditiveAttention> additive_attention;
inline constexpr Factory<Attention> attention;
}  // namespace layers

}  // namespace etude
