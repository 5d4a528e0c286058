#pragma once

#include <cstdint>

#include "etude/activations/activations.hpp"
#include "etude/base/pair.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("filters", self.filters);
    visit("kernel_size", self.kernel_size);
    visit("strides", self.strides);
    visit("padding", self.padding);
    visit("data_format", self.data_format);
    visit("dilation_rate", self.dilation_rate);
    visit("groups", self.groups);
    visit("activation", self.activation);
    visit("use_bias", self.use_bias);
    visit("kernel_initializer", self.kernel_initializer);
    visit("bias_initializer", self.bias_initializer);
    visit("kernel_regularizer", self.kernel_regularizer);
    visit("bias_regularizer", self.bias_regularizer);
    visit("activity_regularizer", self.activity_regularizer);
    visit("name", self.name);
    visit("dtype", self.dtype);
    visit("trainable", self.trainable);
  }
};

/// activation(x ⋆ kernel + bias): [batch, height, width, channels] -> [batch, .., .., filters], or with the channels
/// second where data_format is "channels_first" (transposed around the convolution). kernel [*kernel_size, channels /
/// groups, filters], bias [filters]. `padding` is "valid" or "same".
/// Throws Error(value) for numbers below 1, filters that are no multiple of groups, strides together with dilation
/// Error(shape) for inputs of another rank, channels that are no multiple of groups or not those it was built
/// for, and windows larger than the input.
/// Source: keras/src/layers/convolutional/conv2d.py, base_conv.py.
class Conv2D : public Layer {
 public:
  explicit Conv2D(Conv2DOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  Conv2DOptions options_;
  bool channels_first_;
  Variable kernel_, bias_;
};

}  // namespace etude
