#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "etude/activations/activations.hpp"
#include "etude/layers/layer.hpp"
#include "etude/layers/pointwise.hpp"

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

/// Long short-term memory: [batch, steps, features] -> [batch, units], or [batch, steps, units] with return_sequences;
/// with return_state also the state after the last step, h and c [batch, units]. Called on {x, h, c} it begins from
/// that state.
///
///     i, f, o = recurrent_activation(x · W + h · U + b)     g = activation(…)
///     c = f · c + i · g                                     h = o · activation(c)
///
/// kernel W [features, 4 · units], recurrent_kernel U [units, 4 · units], bias b [4 · units], in the order i, f, g, o
/// . A masked step leaves the state as it is and repeats the last output, or gives zeros with
/// zero_output_for_mask. With go_backwards the steps are taken, and returned, from the last to the first. A
/// stateful layer begins a batch with the state in which the one before ended. The dropout masks are one per sample,
/// the same at every step. The loop's body is compiled once, whatever the number of steps. Throws Error(value) for
/// units below 1 and rates out of [0, 1], Error(shape) for inputs of other rank or width than it was built for.
/// Source: keras/src/layers/rnn/lstm.py; Hochreiter and Schmidhuber, 1997.
class LSTM : public Layer {
 public:
  explicit LSTM(LSTMOptions options);
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;
  std::vector<LayerPtr> layers() const override;

  /// The output, and the state in which the last step ended: h and c, [batch, units].
  struct Outcome {
    Value output, h, c;
  };
  /// As operator(), from an initial state h and c [batch, units], which may be empty: zeros.
  Outcome call_with_state(Value x, Value h = {}, Value c = {}, bool training = false);
  /// Sets the state of a stateful layer to zeros.
  void reset_state();

 private:
  void check_input(const Value& x) const;
  Value initial(Value given, const Variable& kept, std::int64_t batch) const;
  Value output_of(Value steps, Value last, bool masked) const;
  Value dropout_mask(const std::shared_ptr<Dropout>& dropout, std::int64_t batch, std::int64_t width);

  LSTMOptions options_;
  std::shared_ptr<Dropout> dropout_, recurrent_dropout_;
  Variable kernel_, recurrent_kernel_, bias_, h_, c_;
};

}  // namespace etude
