#include "etude/layers/embedding.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"

namespace etude {

void EmbeddingLayer::set_table(Weight table, bool mask_zero) {
  check(table.shape[0] > 0 && table.shape[1] > 0, ErrorKind::value, where(), "input_dim = ", table.shape[0],
        ", output_dim = ", table.shape[1], " - expected positive numbers - set both.");
  table_ = std::move(table);
  mask_zero_ = mask_zero;
  keep_input_dtype();
}

void EmbeddingLayer::set_initial(const Tensor& weights) {
  if (!weights) return;
  check(weights.shape() == table_.shape, ErrorKind::shape, where(), "weights of shape ", weights.shape(),
        " - expected ", table_.shape, ", input_dim and output_dim - pass one matrix, or change these.");
  table_.initializer = initializers::constant({.value = weights});
}

void EmbeddingLayer::build(const Shape&) { embeddings_ = add_weight(table_); }

/// Rounds the selected rows, not the table.
Value EmbeddingLayer::call(Value x, bool) {
  x.graph().expect(
      {x.id(), table_.shape[0], where(), "index", "rows in its table", "check the data, or set a larger input_dim"});
  return ops::cast(ops::take(Graph::current().read(embeddings_), x), compute_dtype());
}

Value EmbeddingLayer::mask_of(const std::vector<Value>& inputs, Value) const {
  return mask_zero_ ? ops::logical_not(ops::equal(inputs.front(), ops::scalar(0, inputs.front()))) : Value{};
}

ReversibleEmbedding::ReversibleEmbedding(ReversibleEmbeddingOptions options)
    : EmbeddingLayer(class_entry<ReversibleEmbedding>, std::move(options)),
      options_(described_options<ReversibleEmbeddingOptions>()) {
  const double soft_cap = options_.logit_soft_cap.value_or(1);
  check(soft_cap > 0, ErrorKind::value, where(), "logit_soft_cap = ", soft_cap,
        " - expected a positive number - set logit_soft_cap.");
  if (options_.reverse_dtype) reverse_dtype_ = dtype_from_name(*options_.reverse_dtype);
  check(is_floating(reverse_dtype_.value_or(compute_dtype())), ErrorKind::dtype, where(),
        "reverse_dtype = ", options_.reverse_dtype.value_or(""), " - expected a float - set reverse_dtype.");
}

void ReversibleEmbedding::build(const Shape& input_shape) {
  EmbeddingLayer::build(input_shape);
  if (!options_.tie_weights)
    reverse_embeddings_ = add_weight({.name = "reverse_embeddings",
                                      .shape = {options_.output_dim, options_.input_dim},
                                      .initializer = options_.embeddings_initializer});
}

Value ReversibleEmbedding::reverse(Value x) {
  x = accept({x}).front();
  const std::int64_t length = options_.output_dim;
  check(x.shape().rank() > 1 && x.shape()[-1] == length, ErrorKind::shape, where(), "reverse of shape ", x.shape(),
        " - expected vectors [batch, .., ", length, "] - pass vectors of length output_dim.");
  const DType dtype = reverse_dtype_.value_or(compute_dtype());
  const bool tied = options_.tie_weights;
  const Value kernel = value_of(tied ? embeddings() : reverse_embeddings_);
  const Value logits = ops::matmul(ops::cast(x, dtype), ops::cast(kernel, dtype), false, tied);
  if (!options_.logit_soft_cap) return logits;
  return ops::tanh(logits / *options_.logit_soft_cap) * *options_.logit_soft_cap;
}

Embedding::Embedding(EmbeddingOptions options) : EmbeddingLayer(class_entry<Embedding>, std::move(options)) {}

}  // namespace etude
