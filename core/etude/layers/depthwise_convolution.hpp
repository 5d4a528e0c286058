#pragma once

#include "etude/base/backend.hpp"
#include "etude/layers/convolution_layer.hpp"

namespace etude {

struct DepthwiseConvolutionOptions {
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::int64_t depth_multiplier = 1;
  std::string data_format = image_data_format();
  Integers dilation_rate = 1;
  Activation activation = {};
  bool use_bias = true;
  Choice<Initializer> depthwise_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> depthwise_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  Choice<Constraint> depthwise_constraint = {};
  Choice<Constraint> bias_constraint = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = DepthwiseConvolutionOptions> static constexpr auto fields() {
    return option_rows(window_fields<O>(), option<&O::depth_multiplier>("Output channels for each input channel."),
                       result_fields<O>(), option<&O::depthwise_initializer>("Initial values of the kernel."),
                       option<&O::bias_initializer>("Initial values of the bias."),
                       option<&O::depthwise_regularizer>("Penalty on the kernel, which is added to the loss."),
                       option<&O::bias_regularizer>("Penalty on the bias, which is added to the loss."),
                       option<&O::activity_regularizer>("Penalty on the result, which is added to the loss."),
                       constraint_fields<O>(), layer_fields<O>());
  }
};

/// A convolution of each channel by itself: [batch, .., channels] -> [batch, .., channels · depth_multiplier]. kernel
/// [*kernel_size, channels, depth_multiplier], bias [channels · depth_multiplier]. Source:
/// keras/src/layers/convolutional/base_depthwise_conv.py.
class DepthwiseConvolution : public ConvolutionLayer {
 public:
  using Options = DepthwiseConvolutionOptions;
  void build(const Shape& input_shape) final;

 protected:
  /// Of a class with `rank` spatial axes.
  DepthwiseConvolution(const ClassEntry& entry, DepthwiseConvolutionOptions options, std::size_t rank);
  Value convolve(Value x) const final;

 private:
  const DepthwiseConvolutionOptions& options_;
  Variable kernel_;
};

/// Source: keras/src/layers/convolutional/depthwise_conv1d.py.
class DepthwiseConv1D : public DepthwiseConvolution {
 public:
  static constexpr ClassText about{
      .name = "DepthwiseConv1D",
      .text =
          "Convolution over steps, each channel by itself: [batch, steps, channels] -> [batch, .., channels · "
          "depth_multiplier].",
      .example = R"({"kernel_size": 3})"};
  explicit DepthwiseConv1D(DepthwiseConvolutionOptions options);
};
/// Source: keras/src/layers/convolutional/depthwise_conv2d.py.
class DepthwiseConv2D : public DepthwiseConvolution {
 public:
  static constexpr ClassText about{
      .name = "DepthwiseConv2D",
      .text =
          "Convolution over images, each channel by itself: [batch, height, width, channels] -> [batch, .., .., "
          "channels · depth_multiplier].",
      .example = R"({"kernel_size": 3})"};
  explicit DepthwiseConv2D(DepthwiseConvolutionOptions options);
};

namespace layers {
inline constexpr Factory<DepthwiseConv1D> depthwise_conv1d;
inline constexpr Factory<DepthwiseConv2D> depthwise_conv2d;
}  // namespace layers

}  // namespace etude
