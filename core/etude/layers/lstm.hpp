#pragma once

#include "etude/layers/recurrent.hpp"

namespace etude {

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
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false,
       zero_output_for_mask = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  static constexpr auto fields() {
    return option_rows(option<&LSTMOptions::units>("Features of the state and of the output.", Need::required),
                       option<&LSTMOptions::activation>("Function of the candidate and of the output."),
                       option<&LSTMOptions::recurrent_activation>("Function of the gates."),
                       option<&LSTMOptions::unit_forget_bias>("Whether the bias of the forget gate starts as 1."),
                       recurrent_fields<LSTMOptions>());
  }
};

/// Long short-term memory, with the states h and c:
///
///     i, f, o = recurrent_activation(x · W + h · U + b)     g = activation(…)
///     c = f · c + i · g                                     h = o · activation(c)
///
/// kernel W [features, 4 · units], recurrent_kernel U [units, 4 · units], bias b [4 · units], in the order i, f, g, o
/// (A-12). Source: keras/src/layers/rnn/lstm.py; Hochreiter and Schmidhuber, 1997.
class LSTM : public Recurrent {
 public:
  using Options = LSTMOptions;
  static constexpr ClassText about{
      .name = "LSTM",
      .text = "Long short-term memory: [batch, steps, features] -> [batch, units], or that of each step.",
      .example = R"({"units": 3})"};
  explicit LSTM(const LSTMOptions& options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;

 protected:
  State step(const Step& now) const override;

 private:
  Activation activation_, recurrent_activation_;
};

namespace layers {
inline constexpr Factory<LSTM> lstm;
}  // namespace layers

}  // namespace etude
