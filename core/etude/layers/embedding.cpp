#include "etude/layers/embedding.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"

namespace etude {

Embedding::Embedding(EmbeddingOptions options)
    : Layer(class_entry<Embedding>, std::move(options)), options_(described_options<EmbeddingOptions>()) {
  check(options_.input_dim > 0 && options_.output_dim > 0, ErrorKind::value, where(),
        "input_dim = ", options_.input_dim, ", output_dim = ", options_.output_dim,
        " - expected positive numbers - set both.");
  keep_input_dtype();
}

void Embedding::build(const Shape&) {
  embeddings_ = add_weight({.name = "embeddings",
                            .shape = {options_.input_dim, options_.output_dim},
                            .initializer = options_.embeddings_initializer,
                            .regularizer = options_.embeddings_regularizer,
                            .constraint = options_.embeddings_constraint});
}

/// Rounds the selected rows, not the table.
Value Embedding::call(Value x, bool) {
  x.graph().expect(
      {x.id(), options_.input_dim, where(), "index", "rows in its table", "check the data, or set a larger input_dim"});
  return ops::cast(ops::take(Graph::current().read(embeddings_), x), compute_dtype());
}

Value Embedding::mask_of(const std::vector<Value>& inputs, Value) const {
  return options_.mask_zero ? ops::logical_not(ops::equal(inputs.front(), ops::scalar(0, inputs.front()))) : Value{};
}

}  // namespace etude
