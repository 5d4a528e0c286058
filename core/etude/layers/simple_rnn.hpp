#pragma once

#include "etude/layers/recurrent.hpp"

namespace etude {

/// The rows of a cell and of its layer.
template <class Options> constexpr auto simple_rnn_cell_fields() {
  return option_rows(option<&Options::activation>("Function applied to the result of each step."),
                     kernel_cell_fields<Options>());
}

struct SimpleRNNCellOptions {
  std::int64_t units = 0;
  Activation activation = "tanh";
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> recurrent_initializer = "orthogonal";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Choice<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = SimpleRNNCellOptions> static constexpr auto fields() {
    return option_rows(option<&O::units>("Features of the state and of the output.", Need::required),
                       simple_rnn_cell_fields<O>(), layer_fields<O>());
  }
};

/// One step of a SimpleRNN: x [batch, features], state h [batch, units].
///
///     h = activation(x · W + h · U + b)
///
/// kernel W [features, units], recurrent_kernel U [units, units], bias b [units] (A-14).
/// Source: keras/src/layers/rnn/simple_rnn.py; Elman, 1990.
class SimpleRNNCell : public KernelCell {
 public:
  using Options = SimpleRNNCellOptions;
  static constexpr ClassText about{.name = "SimpleRNNCell",
                                   .text = "One step of a SimpleRNN: x [batch, features], h [batch, units].",
                                   .example = R"({"units": 3})"};
  explicit SimpleRNNCell(const SimpleRNNCellOptions& options);
  /// The cell of a recurrent layer.
  SimpleRNNCell(KernelCellOptions options, Activation activation);
  std::shared_ptr<RnnCell> copy() const override { return copy_of<SimpleRNNCell>(); }

 protected:
  Advance advance() const override;

 private:
  Activation activation_;
};

struct SimpleRNNOptions {
  std::int64_t units = 0;
  Activation activation = "tanh";
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> recurrent_initializer = "orthogonal";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> recurrent_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  Choice<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false;
  std::optional<std::int64_t> seed = {};
  bool zero_output_for_mask = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = SimpleRNNOptions> static constexpr auto fields() {
    return option_rows(option<&O::units>("Features of the state and of the output.", Need::required),
                       simple_rnn_cell_fields<O>(), recurrent_fields<O>());
  }
};

/// A loop of a SimpleRNNCell, with the state h.
class SimpleRNN : public Recurrent {
 public:
  using Options = SimpleRNNOptions;
  static constexpr ClassText about{
      .name = "SimpleRNN",
      .text = "Fully connected recurrent layer: [batch, steps, features] -> [batch, units], or that of each step.",
      .example = R"({"units": 3})"};
  explicit SimpleRNN(const SimpleRNNOptions& options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;
};

namespace layers {
inline constexpr Factory<SimpleRNNCell> simple_rnn_cell;
inline constexpr Factory<SimpleRNN> simple_rnn;
}  // namespace layers

}  // namespace etude
