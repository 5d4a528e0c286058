#include "etude/layers/dense.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"

namespace etude {

Dense::Dense(DenseOptions options)
    : Layer(class_entry<Dense>, std::move(options)), options_(described_options<DenseOptions>()) {
  check(options_.units > 0, ErrorKind::value, where(), "units = ", options_.units,
        " - expected a positive number - set units.");
  if (!options_.activation.name().empty()) activations::get(options_.activation.name());
  set_activity_regularizer(options_.activity_regularizer);
  cast_integers();
}

void Dense::build(const Shape& input_shape) {
  check(input_shape.rank() >= 2, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected [batch, .., features] - reshape the data to [batch, 1] if it has one feature; call .batch(n) on a "
        "Dataset.");
  kernel_ = add_weight({.name = "kernel",
                        .shape = {input_shape[-1], options_.units},
                        .initializer = options_.kernel_initializer,
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  if (options_.use_bias)
    bias_ = add_weight({.name = "bias",
                        .shape = {options_.units},
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
}

Value Dense::call(Value x, bool) {
  const std::int64_t features = kernel_.shape()[0];
  check(x.shape().rank() >= 2 && x.shape()[-1] == features, ErrorKind::shape, where(),
        "expected input of shape [batch, .., ", features, "], received ", x.shape(), ". The layer was built for ",
        features, " inputs; build a new layer or check the data.");
  Value y = ops::matmul(x, value_of(kernel_));
  if (bias_) y = y + value_of(bias_);
  return options_.activation(y);
}

}  // namespace etude
