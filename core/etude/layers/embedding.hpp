#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct EmbeddingOptions {
  std::int64_t input_dim = 0;
  std::int64_t output_dim = 0;
  Choice<Initializer> embeddings_initializer = "random_uniform";
  Choice<Regularizer> embeddings_regularizer = {};
  Choice<Constraint> embeddings_constraint = {};
  bool mask_zero = false;
  Tensor weights = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = EmbeddingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::input_dim>("Size of the vocabulary: inputs are from 0 to input_dim - 1.", Need::required),
        option<&O::output_dim>("Length of each vector.", Need::required),
        option<&O::embeddings_initializer>("Initial values of the vectors."),
        option<&O::embeddings_regularizer>("Penalty on the vectors."),
        option<&O::embeddings_constraint>("Constraint of the vectors, applied after each update."),
        option<&O::mask_zero>("Whether the input 0 is padding that is masked."),
        option<&O::weights>("The initial vectors: a matrix [input_dim, output_dim], in place of the "
                            "initializer. Not part of a config."),
        layer_fields<O>());
  }
};

/// A vector for each of input_dim numbers: integers [batch, ..] -> [batch, .., output_dim]; floats are converted to
/// integers. With mask_zero the number 0 is masked: the result carries that mask (A-17). A number out of range gives
/// NaN. embeddings [input_dim, output_dim]. Throws Error(value) for sizes below 1, Error(shape) for weights of another
/// shape.
/// Source: keras/src/layers/core/embedding.py.
class EmbeddingLayer : public Layer {
 public:
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) final;

 protected:
  /// Of a class whose options have input_dim, output_dim, and those of the embeddings.
  template <class Options> EmbeddingLayer(const ClassEntry& entry, Options options) : Layer(entry, std::move(options)) {
    const auto& o = described_options<Options>();
    set_table({.name = "embeddings",
               .shape = {o.input_dim, o.output_dim},
               .initializer = o.embeddings_initializer,
               .regularizer = o.embeddings_regularizer,
               .constraint = o.embeddings_constraint},
              o.mask_zero);
    if constexpr (requires { o.weights; }) set_initial(o.weights);
  }
  Value mask_of(const std::vector<Value>& inputs, Value y) const final;
  /// The vectors.
  const Variable& embeddings() const { return embeddings_; }

 private:
  void set_table(Weight table, bool mask_zero);
  void set_initial(const Tensor& weights);

  Weight table_;
  bool mask_zero_ = false;
  Variable embeddings_;
};

/// Source: keras/src/layers/core/embedding.py.
class Embedding : public EmbeddingLayer {
 public:
  using Options = EmbeddingOptions;
  static constexpr ClassText about{.name = "Embedding",
                                   .text = "A vector for each integer: [batch, ..] -> [batch, .., output_dim].",
                                   .example = R"({"input_dim": 7, "output_dim": 2})"};
  explicit Embedding(EmbeddingOptions options);
};

struct ReversibleEmbeddingOptions {
  std::int64_t input_dim = 0;
  std::int64_t output_dim = 0;
  bool tie_weights = true;
  Choice<Initializer> embeddings_initializer = "random_uniform";
  Choice<Regularizer> embeddings_regularizer = {};
  Choice<Constraint> embeddings_constraint = {};
  bool mask_zero = false;
  std::optional<std::string> reverse_dtype = {};
  std::optional<double> logit_soft_cap = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = ReversibleEmbeddingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::input_dim>("Size of the vocabulary: inputs are from 0 to input_dim - 1.", Need::required),
        option<&O::output_dim>("Length of each vector.", Need::required),
        option<&O::tie_weights>("Whether the reverse projection uses the vectors too, instead of a matrix of its "
                                "own."),
        option<&O::embeddings_initializer>("Initial values of the vectors."),
        option<&O::embeddings_regularizer>("Penalty on the vectors."),
        option<&O::embeddings_constraint>("Constraint of the vectors, applied after each update."),
        option<&O::mask_zero>("Whether the input 0 is padding that is masked."),
        option<&O::reverse_dtype>("Dtype of the reverse projection. Default: that of the layer."),
        option<&O::logit_soft_cap>("Number c that limits the results of the reverse projection: c · tanh(logits "
                                   "/ c). Default: no limit."),
        layer_fields<O>());
  }
};

/// An Embedding that also projects vectors to a number for each integer, as language models do at their end: reverse()
/// is [batch, .., output_dim] -> [batch, .., input_dim]. The projection is the transpose of the embeddings, or, without
/// tie_weights, reverse_embeddings [output_dim, input_dim]. Also throws Error(value) for a logit_soft_cap that is not
/// above 0. Source: Press and Wolf (2016); keras/src/layers/core/reversible_embedding.py.
class ReversibleEmbedding : public EmbeddingLayer {
 public:
  using Options = ReversibleEmbeddingOptions;
  using Product = ReversibleEmbedding;
  static constexpr ClassText about{
      .name = "ReversibleEmbedding",
      .text =
          "A vector for each integer, and in reverse a number for each integer: [batch, ..] -> [batch, .., "
          "output_dim].",
      .example = R"({"input_dim": 7, "output_dim": 2})"};
  explicit ReversibleEmbedding(ReversibleEmbeddingOptions options);
  void build(const Shape& input_shape) override;
  /// Within a trace: vectors [batch, .., output_dim] -> logits [batch, .., input_dim], in reverse_dtype. Builds the
  /// layer if it is not built yet. Throws Error(shape) for vectors of another length.
  Value reverse(Value x);

 private:
  const ReversibleEmbeddingOptions& options_;
  std::optional<DType> reverse_dtype_;
  Variable reverse_embeddings_;
};

namespace layers {
inline constexpr Factory<Embedding> embedding;
inline constexpr Factory<ReversibleEmbedding> reversible_embedding;
}  // namespace layers

}  // namespace etude
