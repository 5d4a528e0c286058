#include "etude/layers/convolution.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
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
  return spatial::restore_order(activation_(y), channels_first_);
}

Value ConvolutionLayer::convolved(Value x, Value kernel) const {
  const VolumeWindow window = spatial::over(window_, padding_, x.shape(), rank_, where());
  if (rank_ == 1) kernel = ops::expand_dims(kernel, 0);
  if (rank_ < 3)
    return spatial::from_planes(ops::convolution(spatial::to_planes(x, rank_), kernel, window.plane()), rank_,
                                x.shape());
  // The cells along the depth become channels, those of a group side by side: a convolution of planes sums over both.
  const Shape taken = x.shape(), shape = kernel.shape();
  const std::int64_t cells = window.extent[0], channels = shape[3], groups = taken[4] / channels;
  const std::int64_t depth = window.outputs(0, taken[1]);
  const Value padded = spatial::pad(x, 1, window.before[0], window.after[0]);
  std::vector<Value> slices;
  for (std::int64_t cell = 0; cell < cells; ++cell)
    slices.push_back(ops::reshape(spatial::strided(padded, 1, cell * window.dilation[0], window.strides[0], depth),
                                  {taken[0] * depth, taken[2], taken[3], groups, channels}));
  const Value planes =
      ops::reshape(ops::concatenate(slices, 4), {taken[0] * depth, taken[2], taken[3], groups * cells * channels});
  const Value flat =
      ops::reshape(ops::transpose(kernel, {1, 2, 0, 3, 4}), {shape[1], shape[2], cells * channels, shape[4]});
  const Value y = ops::convolution(planes, flat, window.plane());
  return ops::reshape(y, {taken[0], depth, y.shape()[1], y.shape()[2], shape[4]});
}

Value ConvolutionLayer::convolved_by_channel(Value x, Value kernel) const {
  Shape shape = kernel.shape();
  shape[-1] *= shape[-2];
  shape[-2] = 1;
  return convolved(x, ops::reshape(kernel, shape));
}

Convolution::Convolution(const ClassEntry& entry, ConvolutionOptions options, std::size_t rank)
    : ConvolutionLayer(entry, std::move(options), rank), options_(described_options<ConvolutionOptions>()) {
  const auto& o = options_;
  check(o.filters > 0 && o.groups > 0 && o.filters % o.groups == 0, ErrorKind::value, where(), "filters = ", o.filters,
        ", groups = ", o.groups, " - expected positive numbers, and filters a multiple of groups - set filters.");
  if (rank == 1 && o.padding == "causal") {
    check(o.data_format == "channels_last", ErrorKind::value, where(),
          "padding = \"causal\" with data_format = \"channels_first\" - expected \"channels_last\" - transpose the "
          "data.");
    pad_before(window().span(2) - 1);
  } else if (rank == 1) {
    check(o.padding == "valid" || o.padding == "same", ErrorKind::value, where(), "padding = \"", o.padding,
          "\" - expected \"valid\", \"same\" or \"causal\" - choose one.");
  } else {
    spatial::check_padding(o.padding, where());
  }
}

void Convolution::build(const Shape& input_shape) {
  const std::int64_t channels = channels_of(input_shape);
  check(channels % options_.groups == 0, ErrorKind::shape, where(), "input of shape ", input_shape, ", ", channels,
        " channels - expected a multiple of groups = ", options_.groups, " - change groups.");
  kernel_ = add_kernel("kernel", channels / options_.groups, options_.filters, options_.kernel_initializer,
                       options_.kernel_regularizer, options_.kernel_constraint);
  add_bias(options_, {options_.filters});
}

Value Convolution::convolve(Value x) const { return convolved(x, value_of(kernel_)); }

TransposedConvolution::TransposedConvolution(const ClassEntry& entry, TransposedConvolutionOptions options,
                                             std::size_t rank)
    : ConvolutionLayer(entry, std::move(options), rank), options_(described_options<TransposedConvolutionOptions>()) {
  const auto& o = options_;
  check_positive("filters", o.filters);
  spatial::check_padding(o.padding, where());
  if (o.output_padding.empty()) return;
  const std::vector<std::int64_t>& given = o.output_padding.all();
  bool fits = given.size() == 1 || given.size() == rank;
  Numbers numbers{};
  for (std::size_t i = 0; fits && i < rank; ++i) {
    const std::size_t axis = i + 3 - rank;
    numbers[axis] = given[given.size() == 1 ? 0 : i];
    fits = numbers[axis] >= 0 && numbers[axis] < window().strides[axis];
  }
  check(fits, ErrorKind::value, where(), "output_padding = ", o.output_padding, " with strides = ", o.strides,
        " - expected one number for all axes or one for each, from 0 to less than strides - set output_padding.");
  output_padding_ = numbers;
}

void TransposedConvolution::build(const Shape& input_shape) {
  kernel_ = add_kernel("kernel", options_.filters, channels_of(input_shape), options_.kernel_initializer,
                       options_.kernel_regularizer, options_.kernel_constraint);
  add_bias(options_, {options_.filters});
}

Value TransposedConvolution::convolve(Value x) const {
  // The window of the convolution whose gradient this is: from `extents` to the extents of x.
  VolumeWindow over = window();
  Numbers extents{1, 1, 1}, inputs{1, 1, 1};
  for (std::size_t axis = 3 - rank(); axis < 3; ++axis) {
    const std::int64_t in = x.shape()[static_cast<std::ptrdiff_t>(axis + rank()) - 2], span = over.span(axis);
    const std::int64_t stride = over.strides[axis];
    inputs[axis] = in;
    // Keras's padding of x with stride - 1 zeros between its entries (keras/src/backend/common/backend_utils.py).
    std::int64_t first = span - 1;
    if (padding() == "valid") {
      extents[axis] = (in - 1) * stride + (output_padding_ ? span + (*output_padding_)[axis] : std::max(span, stride));
    } else {
      const std::int64_t all = output_padding_ ? span + span % 2 - 2 + (*output_padding_)[axis] : span + stride - 2;
      first = std::min(all / 2 + all % 2, span - 1);
      extents[axis] = output_padding_ ? (in - 1) * stride + span % 2 + (*output_padding_)[axis] : in * stride;
    }
    if (in == 0) extents[axis] = 0;
    over.before[axis] = span - 1 - first;
    over.after[axis] = std::max<std::int64_t>(0, (in - 1) * stride + span - extents[axis] - over.before[axis]);
  }
  const Shape taken = x.shape();
  const Value kernel = value_of(kernel_);
  const std::int64_t batch = taken[0], filters = options_.filters;
  if (rank() < 3) {
    const Value planes = spatial::to_planes(x, rank());
    const Value y = ops::convolution_input(planes, rank() == 1 ? ops::expand_dims(kernel, 0) : kernel, over.plane(),
                                           {batch, extents[1], extents[2], filters});
    return spatial::from_planes(y, rank(), taken);
  }
  if (inputs[0] == 0) return ops::zeros({batch, 0, extents[1], extents[2], filters}, x.dtype());
  // Each depth gives a plane for each cell along the depth, which are added where they belong.
  const Shape shape = kernel.shape();
  const std::int64_t cells = shape[0], last = (inputs[0] - 1) * over.strides[0] + over.span(0);
  const Value flat =
      ops::reshape(ops::transpose(kernel, {1, 2, 0, 3, 4}), {shape[1], shape[2], cells * filters, shape[4]});
  const Value planes = ops::convolution_input(spatial::to_planes(x, 3), flat, over.plane(),
                                              {batch * inputs[0], extents[1], extents[2], cells * filters});
  const Value split = ops::reshape(planes, {batch, inputs[0], extents[1], extents[2], cells, filters});
  Value sum;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const Value own = ops::squeeze(ops::slice(split, 4, cell, 1), 4);
    const std::int64_t at = cell * over.dilation[0];
    const Value apart = spatial::spread(own, 1, over.strides[0]);
    const std::int64_t extent = std::max(last, extents[0] + over.before[0]);
    const std::int64_t room = std::min(apart.shape()[1], extent - at);
    const Value placed = spatial::pad(ops::slice(apart, 1, 0, room), 1, at, extent - at - room);
    sum = sum ? sum + placed : placed;
  }
  return ops::slice(sum, 1, over.before[0], extents[0]);
}

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

}  // namespace etude
