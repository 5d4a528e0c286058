#include "etude/layers/depthwise_convolution.hpp"

namespace etude {

DepthwiseConvolution::DepthwiseConvolution(const ClassEntry& entry, DepthwiseConvolutionOptions options,
                                           std::size_t rank)
    : ConvolutionLayer(entry, std::move(options), rank), options_(described_options<DepthwiseConvolutionOptions>()) {
  check_positive("depth_multiplier", options_.depth_multiplier);
  spatial::check_padding(options_.padding, where());
}

void DepthwiseConvolution::build(const Shape& input_shape) {
  const std::int64_t channels = channels_of(input_shape);
  kernel_ = add_kernel("kernel", channels, options_.depth_multiplier, options_.depthwise_initializer,
                       options_.depthwise_regularizer, options_.depthwise_constraint);
  add_bias(options_, {channels * options_.depth_multiplier});
}

Value DepthwiseConvolution::convolve(Value x) const { return convolved_by_channel(x, value_of(kernel_)); }

DepthwiseConv1D::DepthwiseConv1D(DepthwiseConvolutionOptions options)
    : DepthwiseConvolution(class_entry<DepthwiseConv1D>, std::move(options), 1) {}
DepthwiseConv2D::DepthwiseConv2D(DepthwiseConvolutionOptions options)
    : DepthwiseConvolution(class_entry<DepthwiseConv2D>, std::move(options), 2) {}

}  // namespace etude
