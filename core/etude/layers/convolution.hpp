#pragma once

#include "etude/base/backend.hpp"
#include "etude/layers/convolution_layer.hpp"

namespace etude {

struct ConvolutionOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = image_data_format();
  Integers dilation_rate = 1;
  std::int64_t groups = 1;
  Activation activation = {};
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  Choice<Constraint> kernel_constraint = {};
  Choice<Constraint> bias_constraint = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = ConvolutionOptions> static constexpr auto fields() {
    return option_rows(option<&O::filters>("Number of output channels.", Need::required), window_fields<O>(),
                       option<&O::groups>("Groups of channels that are convolved separately."), result_fields<O>(),
                       weight_fields<O>(), layer_fields<O>());
  }
};

/// activation(x ⋆ kernel + bias): [batch, .., channels] -> [batch, .., filters], or with the channels second if
/// data_format is "channels_first" (transposed around the convolution). kernel [*kernel_size, channels / groups,
/// filters], bias [filters]. Also throws Error(value) for filters that are no multiple of groups, Error(shape) for
/// channels that are none.
class Convolution : public ConvolutionLayer {
 public:
  using Options = ConvolutionOptions;
  void build(const Shape& input_shape) final;

 protected:
  /// Of a class with `rank` spatial axes.
  Convolution(const ClassEntry& entry, ConvolutionOptions options, std::size_t rank);
  Value convolve(Value x) const final;

 private:
  const ConvolutionOptions& options_;
  Variable kernel_;
};

/// Padding "causal" pads only at the front. Source: keras/src/layers/convolutional/conv1d.py.
class Conv1D : public Convolution {
 public:
  static constexpr ClassText about{.name = "Conv1D",
                                   .text = "Convolution over steps: [batch, steps, channels] -> [batch, .., filters].",
                                   .aliases = "Convolution1D",
                                   .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv1D(ConvolutionOptions options);
};
/// Source: keras/src/layers/convolutional/conv2d.py.
class Conv2D : public Convolution {
 public:
  static constexpr ClassText about{
      .name = "Conv2D",
      .text = "Convolution over images: [batch, height, width, channels] -> [batch, .., .., filters].",
      .aliases = "Convolution2D",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv2D(ConvolutionOptions options);
};
/// Source: keras/src/layers/convolutional/conv3d.py.
class Conv3D : public Convolution {
 public:
  static constexpr ClassText about{
      .name = "Conv3D",
      .text = "Convolution over volumes: [batch, depth, height, width, channels] -> [batch, .., .., .., filters].",
      .aliases = "Convolution3D",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv3D(ConvolutionOptions options);
};

namespace layers {
inline constexpr Factory<Conv1D> conv1d;
inline constexpr Factory<Conv2D> conv2d;
inline constexpr Factory<Conv3D> conv3d;
}  // namespace layers

}  // namespace etude
