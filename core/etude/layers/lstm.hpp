#pragma once

#include "etude/layers/recurrent.hpp"

namespace etude {

/// The rows of a cell and of its layer.
template <class Options> constexpr auto lstm_cell_fields() {
  return option_rows(option<&Options::activation>("Function of the candidate and of the output."),
                     option<&Options::recurrent_activation>("Function of the gates."),
                     option<&Options::unit_forget_bias>("Whether the bias of the forget gate starts as 1."),
                     kernel_cell_fields<Options>());
}

struct LSTMCellOptions {
  std::int64_t units = 0;
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> recurrent_initializer = "orthogonal";
  Choice<Initializer> bias_initializer = "zeros";
  bool unit_forget_bias = true;
  Choice<Regularizer> kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Choice<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = LSTMCellOptions> static constexpr auto fields() {
    return option_rows(option<&O::units>("Features of the states and of the output.", Need::required),
                       lstm_cell_fields<O>(), layer_fields<O>());
  }
};

/// One step of an LSTM: x [batch, features], states h and c [batch, units].
///
///     i, f, o = recurrent_activation(x · W + h · U + b)     g = activation(…)
///     c = f · c + i · g                                     h = o · activation(c)
///
/// kernel W [features, 4 · units], recurrent_kernel U [units, 4 · units], bias b [4 · units], in the order i, f, g, o
/// (A-12). Source: keras/src/layers/rnn/lstm.py; Hochreiter and Schmidhuber, 1997.
class LSTMCell : public KernelCell {
 public:
  using Options = LSTMCellOptions;
  static constexpr ClassText about{.name = "LSTMCell",
                                   .text = "One step of an LSTM: x [batch, features], h and c [batch, units].",
                                   .example = R"({"units": 3})"};
  explicit LSTMCell(const LSTMCellOptions& options);
  /// The cell of a recurrent layer.
  LSTMCell(KernelCellOptions options, Activation activation, Activation recurrent_activation, bool unit_forget_bias,
           std::string_view class_name = about.name);
  std::shared_ptr<RnnCell> copy() const override { return copy_of<LSTMCell>(); }

 protected:
  Advance advance() const override;
  /// Within the loop: h · U.
  virtual Value recur(Value h, Value recurrent_kernel) const;
  /// The axis along which project() and recur() have the gates.
  virtual std::ptrdiff_t gate_axis() const { return -1; }

 private:
  Activation activation_, recurrent_activation_;
};

struct LSTMOptions {
  std::int64_t units = 0;
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> recurrent_initializer = "orthogonal";
  Choice<Initializer> bias_initializer = "zeros";
  bool unit_forget_bias = true;
  Choice<Regularizer> kernel_regularizer = {};
  Choice<Regularizer> recurrent_regularizer = {};
  Choice<Regularizer> bias_regularizer = {};
  Choice<Regularizer> activity_regularizer = {};
  Choice<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  std::optional<std::int64_t> seed = {};
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false,
       zero_output_for_mask = false;
  UseCudnn use_cudnn = "auto";
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = LSTMOptions> static constexpr auto fields() {
    return option_rows(option<&O::units>("Features of the states and of the output.", Need::required),
                       lstm_cell_fields<O>(), cudnn_fields<O>(), recurrent_fields<O>());
  }
};

/// Long short-term memory: a loop of an LSTMCell, with the states h and c.
class LSTM : public Recurrent {
 public:
  using Options = LSTMOptions;
  static constexpr ClassText about{
      .name = "LSTM",
      .text = "Long short-term memory: [batch, steps, features] -> [batch, units], or that of each step.",
      .example = R"({"units": 3})"};
  explicit LSTM(const LSTMOptions& options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;
};

namespace layers {
inline constexpr Factory<LSTMCell> lstm_cell;
inline constexpr Factory<LSTM> lstm;
}  // namespace layers

}  // namespace etude
