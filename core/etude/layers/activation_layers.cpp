#include "etude/layers/activation_layers.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

ReLU::ReLU(const ReLUOptions& options)
    : Layer(class_entry<ReLU>, options),
      options_{
          .negative_slope = options.negative_slope, .max_value = options.max_value, .threshold = options.threshold} {
  check(options.max_value.value_or(0) >= 0 && options.negative_slope >= 0 && options.threshold >= 0, ErrorKind::value,
        where(), "max_value = ", options.max_value.value_or(0), ", negative_slope = ", options.negative_slope,
        ", threshold = ", options.threshold, " - expected numbers of 0 or more - set them.");
  cast_integers();
}

Value ReLU::call(Value x, bool) { return activations::relu(x, options_); }

LeakyReLU::LeakyReLU(const LeakyReLUOptions& options)
    : Layer(class_entry<LeakyReLU>, options), negative_slope_(options.negative_slope) {
  check(negative_slope_ >= 0, ErrorKind::value, where(), "negative_slope = ", negative_slope_,
        " - expected a number of 0 or more - set negative_slope.");
  cast_integers();
}

Value LeakyReLU::call(Value x, bool) { return activations::leaky_relu(x, {.negative_slope = negative_slope_}); }

PReLU::PReLU(PReLUOptions options)
    : Layer(class_entry<PReLU>, std::move(options)), options_(described_options<PReLUOptions>()) {
  cast_integers();
}

void PReLU::build(const Shape& input_shape) {
  Shape shape = input_shape.slice(1, input_shape.rank());
  for (const std::int64_t axis : options_.shared_axes.all()) {
    check(axis >= 1 && axis < static_cast<std::int64_t>(input_shape.rank()), ErrorKind::shape, where(),
          "shared_axes = ", options_.shared_axes, " for input of shape ", input_shape,
          " - expected axes behind the batch axis - set shared_axes.");
    shape[static_cast<std::ptrdiff_t>(axis - 1)] = 1;
  }
  alpha_ = add_weight({.name = "alpha",
                       .shape = shape,
                       .initializer = options_.alpha_initializer,
                       .regularizer = options_.alpha_regularizer,
                       .constraint = options_.alpha_constraint});
}

Value PReLU::call(Value x, bool) {
  const Shape sample = x.shape().slice(1, x.shape().rank());
  bool fits = sample.rank() == alpha_.shape().rank();
  for (std::ptrdiff_t axis = 0; fits && axis < static_cast<std::ptrdiff_t>(sample.rank()); ++axis)
    fits = alpha_.shape()[axis] == 1 || alpha_.shape()[axis] == sample[axis];
  check(fits, ErrorKind::shape, where(), "input of shape ", x.shape(), " - expected samples that slopes of shape ",
        alpha_.shape(), " fit, for which it was built - build a new layer or check the data.");
  return ops::relu(x) - value_of(alpha_) * ops::relu(-x);
}

ELU::ELU(const ELUOptions& options) : Layer(class_entry<ELU>, options), alpha_(options.alpha) { cast_integers(); }

Value ELU::call(Value x, bool) { return activations::elu(x, {.alpha = alpha_}); }

ThresholdedReLU::ThresholdedReLU(const ThresholdedReLUOptions& options)
    : Layer(class_entry<ThresholdedReLU>, options), theta_(options.theta) {
  check(theta_ >= 0, ErrorKind::value, where(), "theta = ", theta_, " - expected a number of 0 or more - set theta.");
  cast_integers();
}

Value ThresholdedReLU::call(Value x, bool) { return activations::relu(x, {.threshold = theta_}); }

Softmax::Softmax(const SoftmaxOptions& options) : Layer(class_entry<Softmax>, options) {
  check(!options.axis.empty(), ErrorKind::value, where(), "no axis - expected one or more - choose axis = -1.");
  for (const std::int64_t axis : options.axis.all()) axes_.push_back(static_cast<std::ptrdiff_t>(axis));
  cast_integers();
}

Value Softmax::call(Value x, bool) {
  Value mask = x.mask();
  if (!mask) return activations::softmax(x, axes_);
  while (mask.shape().rank() < x.shape().rank()) mask = ops::expand_dims(mask, 0);
  mask = ops::broadcast_to(ops::cast(mask, x.dtype()), x.shape());
  const double absent = x.dtype() == DType::float16 ? -3e4 : -1e9;
  return activations::softmax(x + (1 - mask) * absent, axes_) * mask;
}

}  // namespace etude
