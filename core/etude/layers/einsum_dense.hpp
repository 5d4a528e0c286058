#pragma once

#include <optional>

#include "etude/activations/activations.hpp"
#include "etude/base/shape.hpp"
#include "etude/layers/layer.hpp"
#include "etude/ops/einsum.hpp"

namespace etude {

struct EinsumDenseOptions {
  std::string equation = {};
  Shape output_shape = {};
  Activation activation = {};
  std::optional<std::string> bias_axes = {};
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

  template <class O = EinsumDenseOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::equation>("Axes of inputs, kernel and results, such as \"abc,cd->abd\". \"...\" stands for "
                             "further axes.",
                             Need::required),
        option<&O::output_shape>("Shape of the result without the batch axis and the axes of \"...\"; -1: the "
                                 "extent of the input.",
                                 Need::required),
        option<&O::activation>("Function applied to the result, by name or as a function."),
        option<&O::bias_axes>("Axes of the result that the bias has. Default: no bias."), weight_fields<O>(),
        layer_fields<O>());
  }
};

/// activation(einsum(equation, x, kernel) + bias): a Dense layer over any axes. Throws Error(value) for an equation
/// that is none, bias_axes that the result does not have, and an output_shape that does not fit; Error(shape) for
/// inputs of another rank or other extents than it was built for. Source: keras/src/layers/core/einsum_dense.py.
class EinsumDense : public Layer {
 public:
  using Options = EinsumDenseOptions;
  static constexpr ClassText about{.name = "EinsumDense",
                                   .text =
                                       "Product with a kernel over the axes that an equation names: [batch, ..] -> "
                                       "[batch, *output_shape].",
                                   .example = R"({"equation": "ab,bc->ac", "output_shape": [2]})"};
  explicit EinsumDense(EinsumDenseOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;

 private:
  const EinsumDenseOptions& options_;
  EinsumEquation equation_;
  Variable kernel_, bias_;
};

namespace layers {
inline constexpr Factory<EinsumDense> einsum_dense;
}  // namespace layers

}  // namespace etude
