#include "etude/layers/convolution.hpp"

#include "etude/base/error.hpp"
#include "etude/layers/data_format.hpp"
#include "etude/layers/windowed.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

namespace {

/// Checks the options of convolutions of any rank.
template <class Options> void check_options(const Options& o, const std::string& where) {
  check(o.filters > 0 && o.groups > 0 && o.filters % o.groups == 0, ErrorKind::value, where, "filters = ", o.filters,
        ", groups = ", o.groups, " - expected positive numbers, and filters a multiple of groups - set filters.");
  if (!o.activation.name().empty()) activations::get(o.activation.name());
}
void check_strides(const auto& strides, const auto& dilation_rate, bool either, const std::string& where) {
  check(either, ErrorKind::value, where, "strides = ", strides, " with dilation_rate = ", dilation_rate,
        " - expected one of them to be 1 - set one to 1.");
}
void check_channels(std::int64_t channels, std::int64_t groups, const Shape& input, const std::string& where) {
  check(channels > 0 && channels % groups == 0, ErrorKind::shape, where, "input of shape ", input, ", ", channels,
        " channels - expected a multiple of groups = ", groups, " - change groups.");
}
void check_built_channels(const Shape& input, std::int64_t axis, std::int64_t channels, const std::string& where) {
  check(input[static_cast<std::ptrdiff_t>(axis)] == channels, ErrorKind::shape, where, "expected input of ", channels,
        " channels, received shape ", input, ". The layer was built for ", channels,
        " channels; build a new layer or check the data.");
}

}  // namespace

Conv1D::Conv1D(Conv1DOptions options)
    : Layer(class_entry<Conv1D>, std::move(options)),
      options_(described_options<Conv1DOptions>()),
      channels_first_(is_channels_first(options_.data_format, where())) {
  const auto& o = options_;
  check_options(o, where());
  window_.extent[1] = one("kernel_size", o.kernel_size);
  window_.strides[1] = one("strides", o.strides);
  window_.dilation[1] = one("dilation_rate", o.dilation_rate);
  check_strides(o.strides, o.dilation_rate, window_.strides[1] == 1 || window_.dilation[1] == 1, where());
  if (o.padding == "causal") {
    check(!channels_first_, ErrorKind::value, where(), "padding = \"causal\" with data_format = \"channels_first\"",
          " - expected \"channels_last\" - transpose the data.");
    window_.before[1] = window_.span(1) - 1;
  } else {
    check(o.padding == "valid" || o.padding == "same", ErrorKind::value, where(), "padding = \"", o.padding,
          "\" - expected \"valid\", \"same\" or \"causal\" - choose one.");
  }
  set_activity_regularizer(o.activity_regularizer);
  cast_integers();
}

std::int64_t Conv1D::one(const char* name, const Integers& numbers) const {
  check(numbers.all().size() == 1, ErrorKind::value, where(), name, " = ", numbers, " - expected one number - set ",
        name, '.');
  windowed::check_positive(name, numbers.all().front(), where());
  return numbers.all().front();
}

void Conv1D::build(const Shape& input_shape) {
  check(input_shape.rank() == 3, ErrorKind::shape, where(), "input of shape ", input_shape, " - expected ",
        channels_first_ ? "[batch, channels, steps]" : "[batch, steps, channels]",
        " - reshape the data, with an axis of 1 for a single channel.");
  const std::int64_t channels = input_shape[channels_first_ ? 1 : -1];
  check_channels(channels, options_.groups, input_shape, where());
  kernel_ = add_weight({"kernel",
                        {window_.extent[1], channels / options_.groups, options_.filters},
                        options_.kernel_initializer,
                        true,
                        options_.kernel_regularizer});
  if (options_.use_bias)
    bias_ = add_weight({"bias", {options_.filters}, options_.bias_initializer, true, options_.bias_regularizer});
}

Value Conv1D::call(Value x, bool) {
  check(x.shape().rank() == 3, ErrorKind::shape, where(), "input of shape ", x.shape(), " - expected three axes - ",
        "reshape the data, with an axis of 1 for a single channel.");
  check_built_channels(x.shape(), channels_first_ ? 1 : -1, kernel_.shape()[1] * options_.groups, where());
  if (channels_first_) x = ops::transpose(x, {0, 2, 1});
  x = ops::expand_dims(x, 1);
  const Window window = windowed::window(window_, options_.padding, x.shape(), where());
  Value y = ops::squeeze(ops::convolution(x, ops::expand_dims(value_of(kernel_), 0), window), 1);
  if (bias_) y = y + value_of(bias_);
  y = options_.activation(y);
  return channels_first_ ? ops::transpose(y, {0, 2, 1}) : y;
}

Conv2D::Conv2D(Conv2DOptions options)
    : Layer(class_entry<Conv2D>, std::move(options)),
      options_(described_options<Conv2DOptions>()),
      channels_first_(is_channels_first(options_.data_format, where())) {
  const auto& o = options_;
  check_options(o, where());
  windowed::check_positive("kernel_size", o.kernel_size, where());
  windowed::check_positive("strides", o.strides, where());
  windowed::check_positive("dilation_rate", o.dilation_rate, where());
  windowed::check_padding(o.padding, where());
  check_strides(o.strides, o.dilation_rate, o.strides == 1 || o.dilation_rate == 1, where());
  set_activity_regularizer(o.activity_regularizer);
  cast_integers();
}

void Conv2D::build(const Shape& input_shape) {
  windowed::check_rank(input_shape, channels_first_, where());
  const std::int64_t channels = input_shape[channels_first_ ? 1 : -1];
  check_channels(channels, options_.groups, input_shape, where());
  kernel_ = add_weight(
      {"kernel",
       {options_.kernel_size.height(), options_.kernel_size.width(), channels / options_.groups, options_.filters},
       options_.kernel_initializer,
       true,
       options_.kernel_regularizer});
  if (options_.use_bias)
    bias_ = add_weight({"bias", {options_.filters}, options_.bias_initializer, true, options_.bias_regularizer});
}

Value Conv2D::call(Value x, bool) {
  windowed::check_rank(x.shape(), channels_first_, where());
  check_built_channels(x.shape(), channels_first_ ? 1 : -1, kernel_.shape()[2] * options_.groups, where());
  x = windowed::channels_last(x, channels_first_);
  const Window window = windowed::window({.extent = options_.kernel_size.numbers(),
                                          .strides = options_.strides.numbers(),
                                          .dilation = options_.dilation_rate.numbers()},
                                         options_.padding, x.shape(), where());
  Value y = ops::convolution(x, value_of(kernel_), window);
  if (bias_) y = y + value_of(bias_);
  return windowed::back(options_.activation(y), channels_first_);
}

}  // namespace etude
