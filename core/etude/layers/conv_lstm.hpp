#pragma once

#include "etude/base/backend.hpp"
#include "etude/base/integers.hpp"
#include "etude/layers/convolution_layer.hpp"
#include "etude/layers/lstm.hpp"

namespace etude {

struct ConvLSTMOptions {
  std::int64_t filters = 0;
  Integers kernel_size = {};
  Integers strides = 1;
  std::string padding = "valid";
  std::string data_format = image_data_format();
  Integers dilation_rate = 1;
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
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = ConvLSTMOptions> static constexpr auto fields() {
    return option_rows(option<&O::filters>("Channels of the states and of the output.", Need::required),
                       window_fields<O>(), lstm_cell_fields<O>(), recurrent_fields<O>());
  }
};

/// An LSTM of images: convolutions in place of its products. [batch, steps, .., channels] -> [batch, .., filters], or
/// [batch, steps, .., filters] with return_sequences. The window moves over the inputs with the strides, padding and
/// dilation given; over the states with strides 1 and padding "same". kernel [*kernel_size, channels, 4 · filters],
/// recurrent_kernel [*kernel_size, filters, 4 · filters], bias [4 · filters], in the order i, f, g, o. Throws the
/// errors of Convolution, too.
/// Source: keras/src/layers/rnn/conv_lstm.py; Shi et al., 2015.
class ConvLSTM : public Recurrent {
 public:
  using Options = ConvLSTMOptions;

 protected:
  /// Of a class with `rank` spatial axes.
  ConvLSTM(const ClassEntry& entry, ConvLSTMOptions options, std::size_t rank);
};

/// Source: keras/src/layers/rnn/conv_lstm1d.py.
class ConvLSTM1D : public ConvLSTM {
 public:
  static constexpr ClassText about{
      .name = "ConvLSTM1D",
      .text = "LSTM with convolutions: [batch, steps, length, channels] -> [batch, .., filters].",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit ConvLSTM1D(ConvLSTMOptions options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;
};
/// Source: keras/src/layers/rnn/conv_lstm2d.py.
class ConvLSTM2D : public ConvLSTM {
 public:
  static constexpr ClassText about{
      .name = "ConvLSTM2D",
      .text = "LSTM with convolutions: [batch, steps, height, width, channels] -> [batch, .., .., filters].",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit ConvLSTM2D(ConvLSTMOptions options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;
};
/// Source: keras/src/layers/rnn/conv_lstm3d.py.
class ConvLSTM3D : public ConvLSTM {
 public:
  static constexpr ClassText about{
      .name = "ConvLSTM3D",
      .text = "LSTM with convolutions: [batch, steps, depth, height, width, channels] -> [batch, .., .., .., filters].",
      .example = R"({"filters": 2, "kernel_size": 3})"};
  explicit ConvLSTM3D(ConvLSTMOptions options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;
};

namespace layers {
inline constexpr Factory<ConvLSTM1D> conv_lstm1d;
inline constexpr Factory<ConvLSTM2D> conv_lstm2d;
inline constexpr Factory<ConvLSTM3D> conv_lstm3d;
}  // namespace layers

}  // namespace etude
