#include "etude/layers/spectral_normalization.hpp"

#include <algorithm>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/detail/normalized.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

SpectralNormalization::SpectralNormalization(SpectralNormalizationOptions options)
    : Layer(class_entry<SpectralNormalization>, options),
      layer_(options.layer),
      power_iterations_(options.power_iterations) {
  check(layer_ != nullptr, ErrorKind::value, where(), "no layer - expected a layer with a kernel - set layer.");
  check(power_iterations_ > 0 && power_iterations_ <= 100, ErrorKind::value, where(),
        "power_iterations = ", power_iterations_, " - expected 1 to 100 - set power_iterations.");
  check_can_hold(*layer_);
  keep_input_dtype();
  set_supports_masking(false);  // but the layer may
}

void SpectralNormalization::build(const Shape& input_shape) {
  if (!layer_->built()) {
    // A call builds the layer, in a trace that is discarded.
    Graph graph;
    const Trace trace(graph);
    (*layer_)(graph.input(input_shape, layer_->compute_dtype()));
  }
  const std::vector<Variable>& weights = layer_->own_weights();
  const auto found = std::ranges::find_if(weights, [&](const Variable& weight) {
    return weight.name() == layer_->name() + "/kernel" || weight.name() == layer_->name() + "/embeddings";
  });
  check(found != weights.end(), ErrorKind::value, where(), "layer = ", layer_->class_name(),
        ", which has neither a kernel nor embeddings - expected a layer such as Dense, Conv2D or Embedding - set "
        "layer.");
  kernel_ = *found;
  vector_u_ = add_weight({.name = "vector_u",
                          .shape = {1, kernel_.shape()[-1]},
                          .initializer = initializers::truncated_normal({.stddev = 0.02}),
                          .trainable = false});
}

Value SpectralNormalization::call(Value x, bool training) {
  if (training) normalize();
  const Value y = (*layer_)(x, training);
  return ops::cast(y, compute_dtype()).with_mask(y.mask());
}

void SpectralNormalization::normalize() const {
  Graph& graph = Graph::current();
  const Value u = graph.read(vector_u_), kernel = graph.read(kernel_);
  // An earlier call in this step has assigned both. The gradient is that of the kernel's last Value, so all calls must
  // have the same one.
  if (std::ranges::find(graph.assignments(), vector_u_, &Graph::Assignment::variable) != graph.assignments().end())
    return;
  const Value weights = ops::reshape(ops::upcast(kernel), {-1, kernel.shape()[-1]});
  Value v, next = ops::upcast(u);
  for (std::int64_t i = 0; i < power_iterations_; ++i) {
    v = ops::normalized(ops::matmul(next, weights, false, true), {0, 1}, epsilon());
    next = ops::normalized(ops::matmul(v, weights), {0, 1}, epsilon());
  }
  const Value norm = ops::reshape(ops::matmul(ops::matmul(v, weights), next, false, true), {});
  const Value nonzero = ops::greater(ops::sum(ops::absolute(weights)), ops::scalar(0, weights));
  const Value divisor = ops::where(nonzero, norm, ops::scalar(1, norm));
  graph.assign(vector_u_, ops::cast(ops::where(nonzero, next, ops::upcast(u)), u.dtype()));
  graph.assign(kernel_, ops::cast(ops::upcast(kernel) / divisor, kernel.dtype()));
}

}  // namespace etude
