#pragma once

#include <cstdint>
#include <optional>

#include "etude/activations/activations.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/layer.hpp"
#include "etude/layers/spatial.hpp"

namespace etude {

/// The rows of the window of a convolution.
template <class Options> constexpr auto window_fields() {
  return option_rows(
      option<&Options::kernel_size>("Extent of the window along each axis, or one number for all.", Need::required),
      option<&Options::strides>("Step of the window along each axis, or one number for all."),
      option<&Options::padding>("\"valid\": no padding; \"same\": strides of 1 keep the extents; of steps, "
                                "\"causal\": no result depends on a later step."),
      option<&Options::data_format>("\"channels_last\" or \"channels_first\": the position of the channels."),
      option<&Options::dilation_rate>("Distance between the elements of the window, or one number for all axes."));
}
/// The rows of the options of bias and activation.
template <class Options> constexpr auto result_fields() {
  return option_rows(option<&Options::activation>("Function applied to the result, by name or as a function."),
                     option<&Options::use_bias>("Whether a bias is added."));
}

/// The base of all convolutions: the window, the order of the data, a bias and an activation. Throws
/// Error(value) for numbers below 1 or another count of them, strides together with dilation, and for another
/// padding, data_format or activation; Error(shape) for inputs of another rank, for channels that it was not built for,
/// and for windows larger than the input. Source: keras/src/layers/convolutional/base_conv.py.
class ConvolutionLayer : public Layer {
 public:
  Value call(Value x, bool training) final;

 protected:
  /// A layer of a class with `rank` spatial axes, whose options have a window.
  template <class Options>
  ConvolutionLayer(const ClassEntry& entry, Options options, std::size_t rank)
      : Layer(entry, std::move(options)), rank_(rank) {
    const auto& o = described_options<Options>();
    if constexpr (requires { o.dilation_rate; })
      set_window(o.kernel_size, o.strides, o.dilation_rate);
    else
      set_window(o.kernel_size, o.strides, 1);
    set_supports_masking(false);
    set_data(o.padding, o.data_format, o.activation);
    set_activity_regularizer(o.activity_regularizer);
  }

  /// The convolution of x [batch, .., channels].
  virtual Value convolve(Value x) const = 0;

  /// The channels of inputs; a layer that is built has that many. Throws Error(shape) for another rank or no channel.
  std::int64_t channels_of(const Shape& input_shape);
  /// Makes a variable [*extents of the window, inputs, outputs].
  Variable add_kernel(const char* name, std::int64_t inputs, std::int64_t outputs,
                      const Choice<Initializer>& initializer, const Choice<Regularizer>& regularizer,
                      const Choice<Constraint>& constraint);
  /// Makes the bias if there is to be one. It broadcasts to results with the channels last.
  template <class Options> void add_bias(const Options& o, const Shape& shape) {
    if (o.use_bias)
      bias_ = add_weight({.name = "bias",
                          .shape = shape,
                          .initializer = o.bias_initializer,
                          .regularizer = o.bias_regularizer,
                          .constraint = o.bias_constraint});
  }
  /// x convolved with a kernel [*extents of the window, channels / groups, filters].
  Value convolved(Value x, Value kernel) const;
  /// The same, each channel by itself: the kernel is [*extents of the window, channels, multiplier].
  Value convolved_by_channel(Value x, Value kernel) const;
  /// Throws Error(value) unless a number is positive.
  void check_positive(const char* name, std::int64_t number) const;

  /// The number of spatial axes.
  std::size_t rank() const { return rank_; }
  /// The window without its padding.
  const spatial::VolumeWindow& window() const { return window_; }
  /// "valid", "same" or "causal".
  const std::string& padding() const { return padding_; }
  /// Whether inputs and results have their channels second.
  bool channels_first() const { return channels_first_; }
  /// Cells of padding in front of the last axis: those of padding "causal".
  void pad_before(std::int64_t cells) { window_.before[2] = cells; }

 private:
  void set_window(const Integers& kernel_size, const Integers& strides, const Integers& dilation_rate);
  void set_data(const std::string& padding, const std::string& data_format, const Activation& activation);

  std::size_t rank_;
  bool channels_first_ = false;
  std::int64_t channels_ = 0;  // that it was built for
  std::string padding_;
  spatial::VolumeWindow window_;
  Activation activation_;
  Variable bias_;
};

}  // namespace etude
