#pragma once

#include <cstdint>

#include "etude/activations/activations.hpp"
#include "etude/base/integers.hpp"
#include "etude/base/pair.hpp"
#include "etude/graph/window.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

/// The rows of a convolution's options.
template <class Options> constexpr auto convolution_fields() {
  return option_rows(
      option<&Options::filters>("Number of output channels.", Need::required),
      option<&Options::kernel_size>("Extent of the window along each axis, or one number for all.", Need::required),
      option<&Options::strides>("Step of the window along each axis, or one number for all."),
      option<&Options::padding>("\"valid\": no padding; \"same\": strides of 1 keep the extents; of steps, "
                                "\"causal\": no result depends on a later step."),
      option<&Options::data_format>("\"channels_last\" or \"channels_first\": the position of the channels."),
      option<&Options::dilation_rate>("Distance between the elements of the window, or one number for all axes."),
      option<&Options::groups>("Groups of channels that are convolved separately."),
      option<&Options::activation>("Function applied to the result, by name or as a function."),
      option<&Options::use_bias>("Whether a bias is added."), weight_fields<Options>(), layer_fields<Options>());
}

struct Conv1DOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = "channels_last";
  Integers dilation_rate = 1;
  std::int64_t groups = 1;
  Activation activation = {};
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  static constexpr auto fields() { return convolution_fields<Conv1DOptions>(); }
};

/// activation(x ⋆ kernel + bias) along the steps: [batch, steps, channels] -> [batch, .., filters]; with
/// "channels_first" the channels are second. kernel [kernel_size, channels / groups, filters], bias [filters].
/// `padding` is "valid", "same" (A-5) or "causal", which pads only at the front. Throws as Conv2D does, and
/// Error(value) for more than one number in kernel_size, strides or dilation_rate. Source:
/// keras/src/layers/convolutional/conv1d.py, base_conv.py.
class Conv1D : public Layer {
 public:
  using Options = Conv1DOptions;
  static constexpr ClassText about{.name = "Conv1D",
                                   .text = "Convolution over steps: [batch, steps, channels] -> [batch, .., filters].",
                                   .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv1D(Conv1DOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  std::int64_t one(const char* name, const Integers& numbers) const;

  const Conv1DOptions& options_;
  bool channels_first_;
  Window window_;  // along the second axis of [batch, 1, steps, channels]
  Variable kernel_, bias_;
};

struct Conv2DOptions {
  std::int64_t filters = 0;
  Pair kernel_size = 0;
  Pair strides = 1;
  std::string padding = "valid";
  std::string data_format = "channels_last";
  Pair dilation_rate = 1;
  std::int64_t groups = 1;
  Activation activation = {};
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  static constexpr auto fields() { return convolution_fields<Conv2DOptions>(); }
};

/// activation(x ⋆ kernel + bias): [batch, height, width, channels] -> [batch, .., .., filters]; with "channels_first"
/// the channels are second (transposed around the convolution). kernel [*kernel_size, channels / groups, filters], bias
/// [filters]. `padding` is "valid" or "same" (A-5).
/// Throws Error(value) for numbers below 1, filters that are not a multiple of groups, strides together with dilation
/// (A-7); Error(shape) for inputs of another rank, channels that are not a multiple of groups or not those for which it
/// was built, and windows larger than the input.
/// Source: keras/src/layers/convolutional/conv2d.py, base_conv.py.
class Conv2D : public Layer {
 public:
  using Options = Conv2DOptions;
  static constexpr ClassText about{
      .name = "Conv2D",
      .text = "Convolution over images: [batch, height, width, channels] -> [batch, .., .., filters].",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv2D(Conv2DOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const Conv2DOptions& options_;
  bool channels_first_;
  Variable kernel_, bias_;
};

namespace layers {
inline constexpr Factory<Conv1D> conv1d;
inline constexpr Factory<Conv2D> conv2d;
}  // namespace layers

}  // namespace etude
