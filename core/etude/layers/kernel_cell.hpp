#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/activations/activations.hpp"
#include "etude/layers/noise.hpp"
#include "etude/layers/rnn_cell.hpp"

namespace etude {

/// The options of every cell with kernels. The options of each class have these fields, and `units`.
struct KernelCellOptions {
  /// Features of the states and of the output.
  std::int64_t units = 0;
  /// The name of that option.
  const char* units_option = "units";
  bool use_bias = true;
  Choice<Initializer> kernel_initializer, recurrent_initializer, bias_initializer;
  Choice<Regularizer> kernel_regularizer, recurrent_regularizer, bias_regularizer;
  Choice<Constraint> kernel_constraint, recurrent_constraint, bias_constraint;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<std::int64_t> seed = {};
  /// The options of all layers.
  LayerOptions layer = {};
};

/// The rows of those fields, except `units` and those of all layers.
template <class Options> constexpr auto kernel_cell_fields() {
  return option_rows(
      option<&Options::use_bias>("Whether a bias is added."),
      option<&Options::kernel_initializer>("Initial values of the kernel of the inputs."),
      option<&Options::recurrent_initializer>("Initial values of the kernel of the state."),
      option<&Options::bias_initializer>("Initial values of the bias."),
      option<&Options::kernel_regularizer>("Penalty on the kernel."),
      option<&Options::recurrent_regularizer>("Penalty on the recurrent kernel."),
      option<&Options::bias_regularizer>("Penalty on the bias."), constraint_fields<Options>(),
      option<&Options::dropout>("Fraction of the inputs that is set to 0 in training, from 0 to 1."),
      option<&Options::recurrent_dropout>("Fraction of the state that is set to 0 in training, from 0 to 1."),
      option<&Options::seed>("Seed of the random draws. Default: derived from the global seed."));
}

/// Those fields of the options of a cell, or of a recurrent layer for its cell, as one struct. `name`: the cell's.
template <class Options> KernelCellOptions kernel_cell_options(const Options& options, std::string name = {}) {
  KernelCellOptions result{.use_bias = options.use_bias,
                           .kernel_initializer = options.kernel_initializer,
                           .recurrent_initializer = options.recurrent_initializer,
                           .bias_initializer = options.bias_initializer,
                           .kernel_regularizer = options.kernel_regularizer,
                           .recurrent_regularizer = options.recurrent_regularizer,
                           .bias_regularizer = options.bias_regularizer,
                           .kernel_constraint = options.kernel_constraint,
                           .recurrent_constraint = options.recurrent_constraint,
                           .bias_constraint = options.bias_constraint,
                           .dropout = options.dropout,
                           .recurrent_dropout = options.recurrent_dropout,
                           .seed = options.seed,
                           .layer = {std::move(name), options.dtype, options.trainable}};
  if constexpr (requires { options.units; }) {
    result.units = options.units;
  } else {
    result.units = options.filters;
    result.units_option = "filters";
  }
  return result;
}

/// A cell with a kernel for the inputs, one for the first state h, a bias, and dropout of inputs and h. There is one
/// dropout mask per sample, the same at every step of a loop. Its output is h.
/// Throws Error(value) for units below 1 and rates outside [0, 1]; Error(shape) for inputs of another width than at its
/// build. Source: keras/src/layers/rnn/dropout_rnn_cell.py.
class KernelCell : public RnnCell {
 public:
  std::vector<LayerPtr> layers() const override;
  std::vector<Shape> state_shapes(const Shape& x) const override;
  std::string state_name(std::size_t state) const override { return state_names_[state]; }
  Step step(Value x, const std::vector<Value>& states, bool training) override {
    return step_by_parts(x, states, training);
  }
  Parts parts(const Shape& x, bool training) override;
  std::optional<std::size_t> output_state() const override { return 0; }
  void build(const Shape& x) override;

 protected:
  /// The states after a step, h first: from project(x), h after dropout, and the states before the step.
  using Advance = std::function<std::vector<Value>(Value x, Value h, const std::vector<Value>& states)>;

  /// `gates`: the width of the kernels, in units. `state_names`: those of the states, h first.
  KernelCell(std::string_view class_name, KernelCellOptions options, std::int64_t gates,
             std::vector<std::string> state_names = {"h"});
  /// The part of a step that does not depend on the states, for one step or for all: x · kernel + bias.
  virtual Value project(Value x) const;
  /// Within the outer trace: the rest of a step.
  virtual Advance advance() const = 0;
  /// The shapes of the kernels for steps of shape `x`: kernel, recurrent kernel.
  virtual std::pair<Shape, Shape> kernel_shapes(const Shape& x) const;
  /// The shape of the bias.
  virtual Shape bias_shape() const { return {gates_ * units()}; }
  /// The bias that project() adds.
  virtual Value input_bias() const { return bias(); }

  /// Features of the states and of the output.
  std::int64_t units() const { return options_.units; }
  /// The width of the kernels, in units.
  std::int64_t gates() const { return gates_; }
  /// The kernel of the inputs.
  Value kernel() const { return value_of(kernel_); }
  /// The kernel of the state.
  Value recurrent_kernel() const { return value_of(recurrent_kernel_); }
  /// Empty without use_bias.
  Value bias() const { return bias_ ? value_of(bias_) : Value{}; }

 private:
  Value dropout_mask(const std::shared_ptr<Dropout>& dropout, const Shape& shape, bool training) const;

  KernelCellOptions options_;
  std::int64_t gates_;
  std::vector<std::string> state_names_;
  std::shared_ptr<Dropout> dropout_, recurrent_dropout_;
  Variable kernel_, recurrent_kernel_, bias_;
};

/// Throws Error(value), listing the known names, for an unknown name.
inline void check_known(const Activation& activation) {
  if (!activation.name().empty()) activations::get(activation.name());
}

}  // namespace etude
