#pragma once

#include "etude/layers/recurrent.hpp"

namespace etude {

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
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false;
  std::optional<std::int64_t> seed = {};
  bool zero_output_for_mask = false;
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  static constexpr auto fields() {
    return option_rows(option<&SimpleRNNOptions::units>("Features of the state and of the output.", Need::required),
                       option<&SimpleRNNOptions::activation>("Function applied to the result of each step."),
                       recurrent_fields<SimpleRNNOptions>());
  }
};

/// h = activation(x · W + h · U + b), which is also its state: kernel W [features, units], recurrent_kernel U [units,
/// units], bias b [units] (A-14). Source: keras/src/layers/rnn/simple_rnn.py; Elman, 1990.
class SimpleRNN : public Recurrent {
 public:
  using Options = SimpleRNNOptions;
  static constexpr ClassText about{
      .name = "SimpleRNN",
      .text = "Fully connected recurrent layer: [batch, steps, features] -> [batch, units], or that of each step.",
      .example = R"({"units": 3})"};
  explicit SimpleRNN(const SimpleRNNOptions& options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;

 protected:
  State step(const Step& now) const override;

 private:
  Activation activation_;
};

namespace layers {
inline constexpr Factory<SimpleRNN> simple_rnn;
}  // namespace layers

}  // namespace etude
