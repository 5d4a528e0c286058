#pragma once

#include "etude/base/backend.hpp"
#include "etude/layers/convolution_layer.hpp"

namespace etude {

struct LocallyConnectedOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = image_data_format();
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

  template <class O = LocallyConnectedOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::filters>("Number of output channels.", Need::required),
        option<&O::kernel_size>("Extent of the window along each axis, or one number for all.", Need::required),
        option<&O::strides>("Step of the window along each axis, or one number for all."),
        option<&O::padding>("\"valid\": no padding; there is no other."),
        option<&O::data_format>("\"channels_last\" or \"channels_first\": the position of the channels."),
        result_fields<O>(), weight_fields<O>(), layer_fields<O>());
  }
};

/// A convolution with a kernel and a bias of its own at each position: [batch, .., channels] -> [batch, .., filters].
/// kernel [positions, cells of the window · channels, filters], bias [.., filters]. The elements of a window are in the
/// order of the data, so the kernels for "channels_first" have the channels of a cell apart. Also throws Error(value)
/// for a padding other than "valid", Error(shape) for inputs of other extents than it was built for. The weights are
/// those of Keras 2 with implementation = 1. Source: tf_keras/src/layers/locally_connected.
class LocallyConnected : public ConvolutionLayer {
 public:
  using Options = LocallyConnectedOptions;
  void build(const Shape& input_shape) final;

 protected:
  /// Of a class with `rank` spatial axes.
  LocallyConnected(const ClassEntry& entry, LocallyConnectedOptions options, std::size_t rank);
  Value convolve(Value x) const final;

 private:
  Value windows_of(Value x) const;

  const LocallyConnectedOptions& options_;
  Shape inputs_, outputs_;  // the spatial extents
  Variable kernel_;
};

/// Source: tf_keras/src/layers/locally_connected/locally_connected1d.py.
class LocallyConnected1D : public LocallyConnected {
 public:
  static constexpr ClassText about{
      .name = "LocallyConnected1D",
      .text =
          "Convolution over steps with a kernel for each position: [batch, steps, channels] -> [batch, .., filters].",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit LocallyConnected1D(LocallyConnectedOptions options);
};
/// Source: tf_keras/src/layers/locally_connected/locally_connected2d.py.
class LocallyConnected2D : public LocallyConnected {
 public:
  static constexpr ClassText about{
      .name = "LocallyConnected2D",
      .text =
          "Convolution over images with a kernel for each position: [batch, height, width, channels] -> [batch, .., "
          ".., filters].",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit LocallyConnected2D(LocallyConnectedOptions options);
};

namespace layers {
inline constexpr Factory<LocallyConnected1D> locally_connected1d;
inline constexpr Factory<LocallyConnected2D> locally_connected2d;
}  // namespace layers

}  // namespace etude
