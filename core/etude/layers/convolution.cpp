#include "etude/layers/convolution.hpp"

#include "etude/base/error.hpp"

namespace etude {

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

Conv1D::Conv1D(ConvolutionOptions options) : Convolution(class_entry<Conv1D>, std::move(options), 1) {}
Conv2D::Conv2D(ConvolutionOptions options) : Convolution(class_entry<Conv2D>, std::move(options), 2) {}
Conv3D::Conv3D(ConvolutionOptions options) : Convolution(class_entry<Conv3D>, std::move(options), 3) {}

}  // namespace etude
