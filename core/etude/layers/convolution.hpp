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
/// The rows of what follows a convolution.
template <class Options> constexpr auto result_fields() {
  return option_rows(option<&Options::activation>("Function applied to the result, by name or as a function."),
                     option<&Options::use_bias>("Whether a bias is added."));
}

struct ConvolutionOptions {
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
  Choice<Constraint> kernel_constraint = {};
  Choice<Constraint> bias_constraint = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  static constexpr auto fields() {
    return option_rows(option<&ConvolutionOptions::filters>("Number of output channels.", Need::required),
                       window_fields<ConvolutionOptions>(),
                       option<&ConvolutionOptions::groups>("Groups of channels that are convolved separately."),
                       result_fields<ConvolutionOptions>(), weight_fields<ConvolutionOptions>(),
                       layer_fields<ConvolutionOptions>());
  }
};

struct TransposedConvolutionOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = "channels_last";
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

  static constexpr auto fields() {
    return option_rows(
        option<&TransposedConvolutionOptions::filters>("Number of output channels.", Need::required),
        window_fields<TransposedConvolutionOptions>(),
        option<&TransposedConvolutionOptions::output_padding>(
            "Entries that are added at the end of each axis, fewer than strides. Default: as many as make the extents "
            "a multiple of strides."),
        result_fields<TransposedConvolutionOptions>(), weight_fields<TransposedConvolutionOptions>(),
        layer_fields<TransposedConvolutionOptions>());
  }
};

struct DepthwiseConvolutionOptions {
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::int64_t depth_multiplier = 1;
  std::string data_format = "channels_last";
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

  static constexpr auto fields() {
    using Options = DepthwiseConvolutionOptions;
    return option_rows(
        window_fields<Options>(), option<&Options::depth_multiplier>("Output channels for each input channel."),
        result_fields<Options>(), option<&Options::depthwise_initializer>("Initial values of the kernel."),
        option<&Options::bias_initializer>("Initial values of the bias."),
        option<&Options::depthwise_regularizer>("Penalty on the kernel, which is added to the loss."),
        option<&Options::bias_regularizer>("Penalty on the bias, which is added to the loss."),
        option<&Options::activity_regularizer>("Penalty on the result, which is added to the loss."),
        constraint_fields<Options>(), layer_fields<Options>());
  }
};

struct SeparableConvolutionOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = "channels_last";
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

  static constexpr auto fields() {
    using Options = SeparableConvolutionOptions;
    return option_rows(
        option<&Options::filters>("Number of output channels.", Need::required), window_fields<Options>(),
        option<&Options::depth_multiplier>("Channels for each input channel between the two convolutions."),
        result_fields<Options>(), option<&Options::depthwise_initializer>("Initial values of the depthwise kernel."),
        option<&Options::pointwise_initializer>("Initial values of the pointwise kernel."),
        option<&Options::bias_initializer>("Initial values of the bias."),
        option<&Options::depthwise_regularizer>("Penalty on the depthwise kernel, which is added to the loss."),
        option<&Options::pointwise_regularizer>("Penalty on the pointwise kernel, which is added to the loss."),
        option<&Options::bias_regularizer>("Penalty on the bias, which is added to the loss."),
        option<&Options::activity_regularizer>("Penalty on the result, which is added to the loss."),
        constraint_fields<Options>(), layer_fields<Options>());
  }
};

/// What all convolutions have in common: the window, the order of the data, a bias and an activation. Throws
/// Error(value) for numbers below 1 or another count of them, strides together with dilation (A-7), and for another
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
  explicit Conv1D(ConvolutionOptions options) : Convolution(class_entry<Conv1D>, std::move(options), 1) {}
};
/// Source: keras/src/layers/convolutional/conv2d.py.
class Conv2D : public Convolution {
 public:
  static constexpr ClassText about{
      .name = "Conv2D",
      .text = "Convolution over images: [batch, height, width, channels] -> [batch, .., .., filters].",
      .aliases = "Convolution2D",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv2D(ConvolutionOptions options) : Convolution(class_entry<Conv2D>, std::move(options), 2) {}
};
/// Source: keras/src/layers/convolutional/conv3d.py.
class Conv3D : public Convolution {
 public:
  static constexpr ClassText about{
      .name = "Conv3D",
      .text = "Convolution over volumes: [batch, depth, height, width, channels] -> [batch, .., .., .., filters].",
      .aliases = "Convolution3D",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv3D(ConvolutionOptions options) : Convolution(class_entry<Conv3D>, std::move(options), 3) {}
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
  explicit Conv1DTranspose(TransposedConvolutionOptions options)
      : TransposedConvolution(class_entry<Conv1DTranspose>, std::move(options), 1) {}
};
/// Source: keras/src/layers/convolutional/conv2d_transpose.py.
class Conv2DTranspose : public TransposedConvolution {
 public:
  static constexpr ClassText about{
      .name = "Conv2DTranspose",
      .text = "Transposed convolution over images: [batch, height, width, channels] -> [batch, .., .., filters].",
      .aliases = "Convolution2DTranspose",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit Conv2DTranspose(TransposedConvolutionOptions options)
      : TransposedConvolution(class_entry<Conv2DTranspose>, std::move(options), 2) {}
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
  explicit Conv3DTranspose(TransposedConvolutionOptions options)
      : TransposedConvolution(class_entry<Conv3DTranspose>, std::move(options), 3) {}
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
  explicit DepthwiseConv1D(DepthwiseConvolutionOptions options)
      : DepthwiseConvolution(class_entry<DepthwiseConv1D>, std::move(options), 1) {}
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
  explicit DepthwiseConv2D(DepthwiseConvolutionOptions options)
      : DepthwiseConvolution(class_entry<DepthwiseConv2D>, std::move(options), 2) {}
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
  explicit SeparableConv1D(SeparableConvolutionOptions options)
      : SeparableConvolution(class_entry<SeparableConv1D>, std::move(options), 1) {}
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
  explicit SeparableConv2D(SeparableConvolutionOptions options)
      : SeparableConvolution(class_entry<SeparableConv2D>, std::move(options), 2) {}
};

namespace layers {
inline constexpr Factory<Conv1D> conv1d;
inline constexpr Factory<Conv2D> conv2d;
inline constexpr Factory<Conv3D> conv3d;
inline constexpr Factory<Conv1DTranspose> conv1d_transpose;
inline constexpr Factory<Conv2DTranspose> conv2d_transpose;
inline constexpr Factory<Conv3DTranspose> conv3d_transpose;
inline constexpr Factory<DepthwiseConv1D> depthwise_conv1d;
inline constexpr Factory<DepthwiseConv2D> depthwise_conv2d;
inline constexpr Factory<SeparableConv1D> separable_conv1d;
inline constexpr Factory<SeparableConv2D> separable_conv2d;
}  // namespace layers

}  // namespace etude
