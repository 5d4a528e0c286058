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
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  static constexpr auto fields() {
    return option_rows(
        option<&EmbeddingOptions::input_dim>("Size of the vocabulary: inputs are from 0 to input_dim - 1.",
                                             Need::required),
        option<&EmbeddingOptions::output_dim>("Length of each vector.", Need::required),
        option<&EmbeddingOptions::embeddings_initializer>("Initial values of the vectors."),
        option<&EmbeddingOptions::embeddings_regularizer>("Penalty on the vectors."),
        option<&EmbeddingOptions::embeddings_constraint>("Constraint of the vectors, applied after each update."),
        option<&EmbeddingOptions::mask_zero>("Whether the input 0 is padding that is masked."),
        layer_fields<EmbeddingOptions>());
  }
};

/// A vector for each of input_dim numbers: integers [batch, ..] -> [batch, .., output_dim]; floats are converted to
/// integers. With mask_zero the number 0 is masked: the result carries that mask (A-17). A number out of range gives
/// NaN. embeddings [input_dim, output_dim]. Throws Error(value) for sizes below 1.
/// Source: keras/src/layers/core/embedding.py.
class Embedding : public Layer {
 public:
  using Options = EmbeddingOptions;
  static constexpr ClassText about{.name = "Embedding",
                                   .text = "A vector for each integer: [batch, ..] -> [batch, .., output_dim].",
                                   .example = R"({"input_dim": 7, "output_dim": 2})"};
  explicit Embedding(EmbeddingOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 protected:
  Value mask_of(const std::vector<Value>& inputs, Value y) const override;

 private:
  const EmbeddingOptions& options_;
  Variable embeddings_;
};

namespace layers {
inline constexpr Factory<Embedding> embedding;
}  // namespace layers

}  // namespace etude
