#pragma once

#include <cstdint>

#include "etude/activations/activations.hpp"
#include "etude/layers/layer.hpp"

namespace etude {

struct DenseOptions {
  std::int64_t units = 0;
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
    visit("units", self.units);
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

/// activation(x · kernel + bias) over the last axis: [.., n] -> [.., units]. kernel [n, units], bias [units].
/// Throws Error(value) for units below 1, Error(shape) for inputs of rank below 2 or another n than it was built for.
/// Source: keras/src/layers/core/dense.py.
class Dense : public Layer {
 public:
  explicit Dense(DenseOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  DenseOptions options_;
  Variable kernel_, bias_;
};

}  // namespace etude
