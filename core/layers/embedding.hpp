#pragma once

#include "etude/layers/layer.hpp"

namespace etude {

struct EmbeddingOptions {
  std::int64_t input_dim = 0;
  std::int64_t output_dim = 0;
  Choice<Initializer> embeddings_initializer = "random_uniform";
  Choice<Regularizer> embeddings_regularizer = {};
  bool mask_zero = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("input_dim", self.input_dim);
    visit("output_dim", self.output_dim);
    visit("embeddings_initializer", self.embeddings_initializer);
    visit("embeddings_regularizer", self.embeddings_regularizer);
    visit("mask_zero", self.mask_zero);
    visit("name", self.name);
    visit("dtype", self.dtype);
    visit("trainable", self.trainable);
  }
};

/// A vector for each of input_dim numbers: integers [batch, ..] -> [batch, .., output_dim]; floats are taken as
/// integers. With mask_zero the number 0 does not count: the result carries that mask. A number out of range
/// gives NaN. embeddings [input_dim, output_dim]. Throws Error(value) for sizes below 1.
/// Source: keras/src/layers/core/embedding.py.
class Embedding : public Layer {
 public:
  explicit Embedding(EmbeddingOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 protected:
  Value mask_of(const std::vector<Value>& inputs, Value y) const override;

 private:
  EmbeddingOptions options_;
  Variable embeddings_;
};

}  // namespace etude
