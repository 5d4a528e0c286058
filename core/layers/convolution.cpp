#include "etude/layers/convolution.hpp"

#include "etude/base/error.hpp"
#include "etude/layers/data_format.hpp"
#include "etude/layers/windowed.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

Conv2D::Conv2D(Conv2DOptions options)
    : Layer("Conv2D", options),
      options_(std::move(options)),
      channels_first_(is_channels_first(options_.data_format, where())) {
  const auto& o = options_;
  check(o.filters > 0 && o.groups > 0 && o.filters % o.groups == 0, ErrorKind::value, where(), "filters = ", o.filters,
        ", groups = ", o.groups, " - expected positive numbers, and filters a multiple of groups - set filters.");
  windowed::check_positive("kernel_size", o.kernel_size, where());
  windowed::check_positive("strides", o.strides, where());
  windowed::check_positive("dilation_rate", o.dilation_rate, where());
  windowed::check_padding(o.padding, where());
  check(o.strides == 1 || o.dilation_rate == 1, ErrorKind::value, where(), "strides = ", o.strides,
        " with dilation_rate = ", o.dilation_rate, " - expected one of them to be 1 - choose which.");
  if (!o.activation.name().empty()) activations::get(o.activation.name());
  set_activity_regularizer(o.activity_regularizer);
  cast_integers();
}

void Conv2D::build(const Shape& input_shape) {
  windowed::check_rank(input_shape, channels_first_, where());
  const std::int64_t channels = input_shape[channels_first_ ? 1 : -1];
  check(channels > 0 && channels % options_.groups == 0, ErrorKind::shape, where(), "input of shape ", input_shape,
        ", ", channels, " channels - expected a multiple of groups = ", options_.groups,
        " - choose another number of groups.");
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
  const std::int64_t channels = kernel_.shape()[2] * options_.groups;
  check(x.shape()[channels_first_ ? 1 : -1] == channels, ErrorKind::shape, where(), "expected input of ", channels,
        " channels, received shape ", x.shape(), ". The layer was built for ", channels,
        " channels; build a new one or check the data.");
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
