#pragma once

#include "etude/base/backend.hpp"
#include "etude/layers/convolution_layer.hpp"

namespace etude {

struct TransposedConvolutionOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = image_data_format();
  Integers output_padding = {};  ///< Default: what padding and strides suggest.
  Integers dilation_rate = 1;
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

  template <class O = TransposedConvolutionOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::filters>("Number of output channels.", Need::required), window_fields<O>(),
        option<&O::output_padding>(
            "Entries that are added at the end of each axis, fewer than strides. Default: as many as make the extents "
            "a multiple of strides."),
        result_fields<O>(), weight_fields<O>(), layer_fields<O>());
  }
};

/// activation(transposed convolution of x + bias): the gradient of a convolution from [batch, .., filters] to x. kernel
/// [*kernel_size, filters, channels], bias [filters]. Along each axis of n entries the result has (n - 1) · strides +
/// the span of the window + output_padding with padding "valid", and n · strides with "same" unless output_padding is
/// given. Also throws Error(value) for an output_padding below 0, or not below strides. Source:
/// keras/src/layers/convolutional/base_conv_transpose.py.
class TransposedConvolution : public ConvolutionLayer {
 public:
  using Options = TransposedConvolutionOptions;
  void build(const Shape& input_shape) final;

 protected:
  /// Of a class with `rank` spatial axes.
  TransposedConvolution(const ClassEntry& entry, TransposedConvolutionOptions options, std::size_t rank);
  Value convolve(Value x) const final;

 private:
  const TransposedConvolutionOptions& options_;
  std::optional<spatial::Numbers> output_padding_;
  Variable kernel_;
};

/// Source: keras/src/layers/convolutional/conv1d_transpose.py.
class Conv1DTranspose : public TransposedConvolution {
 public:
  static constexpr ClassText about{
      .name = "Conv1DTranspose",
      .text = "Transposed convolution over steps: [batch, steps, channels] -> [batch, .., filters].",
      .aliases = "Convolution1DTranspose",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv1DTranspose(TransposedConvolutionOptions options);
};
/// Source: keras/src/layers/convolutional/conv2d_transpose.py.
class Conv2DTranspose : public TransposedConvolution {
 public:
  static constexpr ClassText about{
      .name = "Conv2DTranspose",
      .text = "Transposed convolution over images: [batch, height, width, channels] -> [batch, .., .., filters].",
      .aliases = "Convolution2DTranspose",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv2DTranspose(TransposedConvolutionOptions options);
};
/// Source: keras/src/layers/convolutional/conv3d_transpose.py.
class Conv3DTranspose : public TransposedConvolution {
 public:
  static constexpr ClassText about{
      .name = "Conv3DTranspose",
      .text =
          "Transposed convolution over volumes: [batch, depth, height, width, channels] -> [batch, .., .., .., "
          "filters].",
      .aliases = "Convolution3DTranspose",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv3DTranspose(TransposedConvolutionOptions options);
};

namespace layers {
inline constexpr Factory<Conv1DTranspose> conv1d_transpose;
inline constexpr Factory<Conv2DTranspose> conv2d_transpose;
inline constexpr Factory<Conv3DTranspose> conv3d_transpose;
}  // namespace layers

}  // namespace etude
