#include "etude/layers/separable_convolution.hpp"

#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

SeparableConvolution::SeparableConvolution(const ClassEntry& entry, SeparableConvolutionOptions options,
                                           std::size_t rank)
    : ConvolutionLayer(entry, std::move(options), rank), options_(described_options<SeparableConvolutionOptions>()) {
  check_positive("filters", options_.filters);
  check_positive("depth_multiplier", options_.depth_multiplier);
  spatial::check_padding(options_.padding, where());
}

void SeparableConvolution::build(const Shape& input_shape) {
  const auto& o = options_;
  const std::int64_t channels = channels_of(input_shape);
  depthwise_ = add_kernel("depthwise_kernel", channels, o.depth_multiplier, o.depthwise_initializer,
                          o.depthwise_regularizer, o.depthwise_constraint);
  Shape shape;
  for (std::size_t axis = 0; axis < rank(); ++axis) shape.append(1);
  shape.append(channels * o.depth_multiplier);
  shape.append(o.filters);
  pointwise_ = add_weight({.name = "pointwise_kernel",
                           .shape = shape,
                           .initializer = o.pointwise_initializer,
                           .regularizer = o.pointwise_regularizer,
                           .constraint = o.pointwise_constraint});
  add_bias(o, {o.filters});
}

Value SeparableConvolution::convolve(Value x) const {
  const Value kernel = value_of(pointwise_);
  return ops::matmul(convolved_by_channel(x, value_of(depthwise_)),
                     ops::reshape(kernel, {kernel.shape()[-2], kernel.shape()[-1]}));
}

SeparableConv1D::SeparableConv1D(SeparableConvolutionOptions options)
    : SeparableConvolution(class_entry<SeparableConv1D>, std::move(options), 1) {}
SeparableConv2D::SeparableConv2D(SeparableConvolutionOptions options)
    : SeparableConvolution(class_entry<SeparableConv2D>, std::move(options), 2) {}

}  // namespace etude
