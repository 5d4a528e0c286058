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
  Choice<Constraint> kernel_constraint = {};
  Choice<Constraint> bias_constraint = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = DenseOptions> static constexpr auto fields() {
    return option_rows(option<&O::units>("Number of outputs.", Need::required),
                       option<&O::activation>("Function applied to the result, by name or as a function."),
                       option<&O::use_bias>("Whether a bias is added."), weight_fields<O>(), layer_fields<O>());
  }
};

/// activation(x · kernel + bias) over the last axis: [.., n] -> [.., units]. kernel [n, units], bias [units].
/// Throws Error(value) for units below 1, Error(shape) for inputs of rank below 2 or another n than at its build.
/// Source: keras/src/layers/core/dense.py.
class Dense : public Layer {
 public:
  using Options = DenseOptions;
  static constexpr ClassText about{.name = "Dense",
                                   .text = "activation(x · kernel + bias) over the last axis: [.., n] -> [.., units].",
                                   .example = R"({"units": 3})"};
  explicit Dense(DenseOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const DenseOptions& options_;
  Variable kernel_, bias_;
};

namespace layers {
inline constexpr Factory<Dense> dense;
}  // namespace layers

}  // namespace etude
