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
  double dropout = 0, recurrent_dropout = 0;
  std::optional<std::int64_t> seed = {};
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false,
       zero_output_for_mask = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("units", self.units);
    visit("activation", self.activation);
    visit("recurrent_activation", self.recurrent_activation);
    visit("use_bias", self.use_bias);
    visit("kernel_initializer", self.kernel_initializer);
    visit("recurrent_initializer", self.recurrent_initializer);
    visit("bias_initializer", self.bias_initializer);
    visit("unit_forget_bias", self.unit_forget_bias);
    visit("kernel_regularizer", self.kernel_regularizer);
    visit("recurrent_regularizer", self.recurrent_regularizer);
    visit("bias_regularizer", self.bias_regularizer);
    visit("activity_regularizer", self.activity_regularizer);
    visit("dropout", self.dropout);
    visit("recurrent_dropout", self.recurrent_dropout);
    visit("seed", self.seed);
    visit("return_sequences", self.return_sequences);
    visit("return_state", self.return_state);
    visit("go_backwards", self.go_backwards);
    visit("stateful", self.stateful);
    visit("zero_output_for_mask", self.zero_output_for_mask);
    visit("name", self.name);
    visit("dtype", self.dtype);
    visit("trainable", self.trainable);
  }
};

/// Long short-term memory, whose state is h and c:
///
///     i, f, o = recurrent_activation(x · W + h · U + b)     g = activation(…)
///     c = f · c + i · g                                     h = o · activation(c)
///
/// kernel W [features, 4 · units], recurrent_kernel U [units, 4 · units], bias b [4 · units], in the order i, f, g, o
/// . Source: keras/src/layers/rnn/lstm.py; Hochreiter and Schmidhuber, 1997.
class LSTM : public Recurrent {
 public:
  explicit LSTM(const LSTMOptions& options);

 protected:
  State step(const Step& now) const override;

 private:
  Activation activation_, recurrent_activation_;
};

}  // namespace etude
