#pragma once

#include "etude/layers/recurrent.hpp"

namespace etude {

/// The rows of a cell and of its layer.
template <class Options> constexpr auto gru_cell_fields() {
  return option_rows(option<&Options::activation>("Function of the candidate state."),
                     option<&Options::recurrent_activation>("Function of the gates."),
                     option<&Options::reset_after>("Whether the reset gate is applied after the product."),
                     kernel_cell_fields<Options>());
}

struct GRUCellOptions {
  std::int64_t units = 0;
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";
  bool use_bias = true;
  Choice<Initializer> kernel_initializer = "glorot_uniform";
  Choice<Initializer> recurrent_initializer = "orthogonal";
  Choice<Initializer> bias_initializer = "zeros";
  Choice<Regularizer> kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {};
  Choice<Constraint> kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  bool reset_after = true;
  std::optional<std::int64_t> seed = {};
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = GRUCellOptions> static constexpr auto fields() {
    return option_rows(option<&O::units>("Features of the state and of the output.", Need::required),
                       gru_cell_fields<O>(), layer_fields<O>());
  }
};

/// One step of a GRU: x [batch, features], state h [batch, units].
///
///     z, r = recurrent_activation(x · W + b + h · U + d)
///     g = activation(x · W + b + r · (h · U + d))           h = z · h + (1 - z) · g
///
/// kernel W [features, 3 · units] and recurrent_kernel U [units, 3 · units] in the order z, r, g; bias [2, 3 · units]:
/// b and d (A-13). With reset_after = false, r is applied before the product: g = activation(x · W + b + (r · h) · U),
/// and the bias is only b, [3 · units]. Source: keras/src/layers/rnn/gru.py; Cho et al., 2014.
class GRUCell : public KernelCell {
 public:
  using Options = GRUCellOptions;
  static constexpr ClassText about{.name = "GRUCell",
                                   .text = "One step of a GRU: x [batch, features], h [batch, units].",
                                   .example = R"({"units": 3})"};
  explicit GRUCell(const GRUCellOptions& options);
  /// The cell of a recurrent layer.
  GRUCell(KernelCellOptions options, Activation activation, Activation recurrent_activation, bool reset_after);
  std::shared_ptr<RnnCell> copy() const override { return copy_of<GRUCell>(); }

 protected:
  Advance advance() const override;
  Value input_bias() const override;
  /// [3 · units], or [2, 3 · units] with reset_after.
  Shape bias_shape() const override;

 private:
  Activation activation_, recurrent_activation_;
  bool reset_after_;
};

struct GRUOptions {
  std::int64_t units = 0;
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";
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
  std::optional<std::int64_t> seed = {};
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false, unroll = false;
  bool reset_after = true;
  bool zero_output_for_mask = false;
  UseCudnn use_cudnn = "auto";
  std::string name = {};
  std::string dtype = {};
  bool trainable = true;

  template <class O = GRUOptions> static constexpr auto fields() {
    return option_rows(option<&O::units>("Features of the state and of the output.", Need::required),
                       gru_cell_fields<O>(), cudnn_fields<O>(), recurrent_fields<O>());
  }
};

/// Gated recurrent units: a loop of a GRUCell, with the state h.
class GRU : public Recurrent {
 public:
  using Options = GRUOptions;
  static constexpr ClassText about{
      .name = "GRU",
      .text = "Gated recurrent unit: [batch, steps, features] -> [batch, units], or that of each step.",
      .example = R"({"units": 3})"};
  explicit GRU(const GRUOptions& options);
  std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const override;
};

namespace layers {
inline constexpr Factory<GRUCell> gru_cell;
inline constexpr Factory<GRU> gru;
}  // namespace layers

}  // namespace etude
