#pragma once

#include "etude/base/backend.hpp"
#include "etude/layers/convolution_layer.hpp"

namespace etude {

struct SeparableConvolutionOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = image_data_format();
  Integers dilation_rate = 1;
  std::int64_t depth_multiplier = 1;
  Activation activation = {};
  bool use_bias = true;
  Choice<Initializer> depthwise_initializer = "glorot_uniform";
  Choice<Initializer> pointwise_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> depthwise_regularizer = {};
  Choice<Regularizer> pointwise_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  Choice<Constraint> depthwise_constraint = {};
  Choice<Constraint> pointwise_constraint = {};
  Choice<Constraint> bias_constraint = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = SeparableConvolutionOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::filters>("Number of output channels.", Need::required), window_fields<O>(),
        option<&O::depth_multiplier>("Channels for each input channel between the two convolutions."),
        result_fields<O>(), option<&O::depthwise_initializer>("Initial values of the depthwise kernel."),
        option<&O::pointwise_initializer>("Initial values of the pointwise kernel."),
        option<&O::bias_initializer>("Initial values of the bias."),
        option<&O::depthwise_regularizer>("Penalty on the depthwise kernel, which is added to the loss."),
        option<&O::pointwise_regularizer>("Penalty on the pointwise kernel, which is added to the loss."),
        option<&O::bias_regularizer>("Penalty on the bias, which is added to the loss."),
        option<&O::activity_regularizer>("Penalty on the result, which is added to the loss."), constraint_fields<O>(),
        layer_fields<O>());
  }
};

/// A convolution of each channel by itself, and one of single cells over all channels. depthwise_kernel [*kernel_size,
/// channels, depth_multiplier], pointwise_kernel [1.., channels · depth_multiplier, filters], bias [filters]. Source:
/// keras/src/layers/convolutional/base_separable_conv.py.
class SeparableConvolution : public ConvolutionLayer {
 public:
  using Options = SeparableConvolutionOptions;
  void build(const Shape& input_shape) final;

 protected:
  /// Of a class with `rank` spatial axes.
  SeparableConvolution(const ClassEntry& entry, SeparableConvolutionOptions options, std::size_t rank);
  Value convolve(Value x) const final;

 private:
  const SeparableConvolutionOptions& options_;
  Variable depthwise_, pointwise_;
};

/// Source: keras/src/layers/convolutional/separable_conv1d.py.
class SeparableConv1D : public SeparableConvolution {
 public:
  static constexpr ClassText about{
      .name = "SeparableConv1D",
      .text =
          "Depthwise convolution over steps, then a mixture of channels: [batch, steps, channels] -> [batch, .., "
          "filters].",
      .aliases = "SeparableConvolution1D",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit SeparableConv1D(SeparableConvolutionOptions options);
};
/// Source: keras/src/layers/convolutional/separable_conv2d.py.
class SeparableConv2D : public SeparableConvolution {
 public:
  static constexpr ClassText about{
      .name = "SeparableConv2D",
      .text =
          "Depthwise convolution over images, then a mixture of channels: [batch, height, width, channels] -> "
          "[batch, .., .., filters].",
      .aliases = "SeparableConvolution2D",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit SeparableConv2D(SeparableConvolutionOptions options);
};

namespace layers {
inline constexpr Factory<SeparableConv1D> separable_conv1d;
inline constexpr Factory<SeparableConv2D> separable_conv2d;
}  // namespace layers

}  // namespace etude
