#include "etude/layers/convolution_layer.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

using spatial::Numbers, spatial::VolumeWindow;

void ConvolutionLayer::set_window(const Integers& kernel_size, const Integers& strides, const Integers& dilation_rate) {
  window_.extent = spatial::numbers("kernel_size", kernel_size, rank_, where());
  window_.strides = spatial::numbers("strides", strides, rank_, where());
  window_.dilation = spatial::numbers("dilation_rate", dilation_rate, rank_, where());
  const auto all_ones = [](const Numbers& numbers) { return numbers == Numbers{1, 1, 1}; };
  check(all_ones(window_.strides) || all_ones(window_.dilation), ErrorKind::value, where(), "strides = ", strides,
        " with dilation_rate = ", dilation_rate, " - expected one of them to be 1 - set one to 1.");
  cast_integers();
}

void ConvolutionLayer::set_data(const std::string& padding, const std::string& data_format,
                                const Activation& activation) {
  padding_ = padding;
  channels_first_ = is_channels_first(data_format, where());
  if (!activation.name().empty()) activations::get(activation.name());
  activation_ = activation;
}

void ConvolutionLayer::check_positive(const char* name, std::int64_t number) const {
  check(number > 0, ErrorKind::value, where(), name, " = ", number, " - expected a positive number - set ", name, '.');
}

std::int64_t ConvolutionLayer::channels_of(const Shape& input_shape) {
  spatial::check_rank(input_shape, rank_, channels_first_, where());
  const std::int64_t channels = input_shape[channels_first_ ? 1 : -1];
  check(channels > 0, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected at least one channel - check the data.");
  return channels_ = channels;
}

Variable ConvolutionLayer::add_kernel(const char* name, std::int64_t inputs, std::int64_t outputs,
                                      const Choice<Initializer>& initializer, const Choice<Regularizer>& regularizer,
                                      const Choice<Constraint>& constraint) {
  Shape shape;
  for (std::size_t axis = 3 - rank_; axis < 3; ++axis) shape.append(window_.extent[axis]);
  shape.append(inputs);
  shape.append(outputs);
  return add_weight(
      {.name = name, .shape = shape, .initializer = initializer, .regularizer = regularizer, .constraint = constraint});
}

Value ConvolutionLayer::call(Value x, bool) {
  spatial::check_rank(x.shape(), rank_, channels_first_, where());
  check(x.shape()[channels_first_ ? 1 : -1] == channels_, ErrorKind::shape, where(), "expected input of ", channels_,
        " channels, received shape ", x.shape(), ". The layer was built for ", channels_,
        " channels; build a new layer or check the data.");
  Value y = convolve(spatial::channels_last(x, channels_first_));
  if (bias_) y = y + value_of(bias_);
  return activation_(spatial::restore_order(y, channels_first_));  // softmax is along the last axis of the result
}

Value ConvolutionLayer::convolved(Value x, Value kernel) const {
  return spatial::convolution(x, kernel, window_, padding_, rank_, where());
}

Value ConvolutionLayer::convolved_by_channel(Value x, Value kernel) const {
  Shape shape = kernel.shape();
  shape[-1] *= shape[-2];
  shape[-2] = 1;
  return convolved(x, ops::reshape(kernel, shape));
}

}  // namespace etude
