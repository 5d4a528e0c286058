#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "etude/activations/activations.hpp"
#include "etude/layers/layer.hpp"
#include "etude/layers/noise.hpp"

namespace etude {

/// What every layer with a state that goes from step to step can be asked for. The options of each have these fields.
struct RecurrentOptions {
  /// Features of the state and of the output.
  std::int64_t units = 0;
  bool use_bias = true;
  Choice<Initializer> kernel_initializer, recurrent_initializer, bias_initializer;
  Choice<Regularizer> kernel_regularizer, recurrent_regularizer, bias_regularizer, activity_regularizer;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<std::int64_t> seed = {};
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false,
       zero_output_for_mask = false;
  /// What all layers can be given.
  LayerOptions layer = {};
};

/// The rows of those fields.
template <class Options> constexpr auto recurrent_fields() {
  return option_rows(
      option<&Options::use_bias>("Whether a bias is added."),
      option<&Options::kernel_initializer>("First values of the kernel, which inputs are multiplied by."),
      option<&Options::recurrent_initializer>("First values of the kernel that the state is multiplied by."),
      option<&Options::bias_initializer>("First values of the bias."),
      option<&Options::kernel_regularizer>("Penalty on the kernel."),
      option<&Options::recurrent_regularizer>("Penalty on the recurrent kernel."),
      option<&Options::bias_regularizer>("Penalty on the bias."),
      option<&Options::activity_regularizer>("Penalty on the result."),
      option<&Options::dropout>("Share of the inputs that is set to 0 in training, from 0 to 1."),
      option<&Options::recurrent_dropout>("Share of the state that is set to 0 in training, from 0 to 1."),
      option<&Options::seed>("Seed of the random draws. Default: drawn from the seed that was set for all."),
      option<&Options::return_sequences>("Whether the output of each step is returned, not of the last one alone."),
      option<&Options::return_state>("Whether the last state is returned too."),
      option<&Options::go_backwards>("Whether steps run from the last to the first."),
      option<&Options::stateful>("Whether a batch begins with the state that the last batch ended with."),
      option<&Options::zero_output_for_mask>("Whether the output of masked steps is 0."), layer_fields<Options>());
}

/// Those fields, as one struct.
template <class Options> RecurrentOptions recurrent_options(const Options& options) {
  return {.units = options.units,
          .use_bias = options.use_bias,
          .kernel_initializer = options.kernel_initializer,
          .recurrent_initializer = options.recurrent_initializer,
          .bias_initializer = options.bias_initializer,
          .kernel_regularizer = options.kernel_regularizer,
          .recurrent_regularizer = options.recurrent_regularizer,
          .bias_regularizer = options.bias_regularizer,
          .activity_regularizer = options.activity_regularizer,
          .dropout = options.dropout,
          .recurrent_dropout = options.recurrent_dropout,
          .seed = options.seed,
          .return_sequences = options.return_sequences,
          .return_state = options.return_state,
          .go_backwards = options.go_backwards,
          .stateful = options.stateful,
          .zero_output_for_mask = options.zero_output_for_mask,
          .layer = {options.name, options.dtype, options.trainable}};
}

/// A loop over the steps of [batch, steps, features], to which subclasses state one step: -> [batch, units], the output
/// h of the last step, or [batch, steps, units] with return_sequences; with return_state also the state after the last
/// step, each [batch, units], h first. Called on {x, h, ..} it begins from that state instead of zeros.
///
/// A masked step leaves the state as it is and repeats the last output, which is zeros before the first valid step;
/// with zero_output_for_mask it gives zeros. With go_backwards the steps are taken, and returned, from the last
/// to the first. A stateful layer begins a batch with the state in which the one before ended. The
/// dropout masks are one per sample, the same at every step. The loop's body is compiled once, whatever the number of
/// steps. Throws Error(value) for units below 1 and rates out of [0, 1], Error(shape) for inputs of other rank or width
/// than it was built for. Source: keras/src/layers/rnn/rnn.py.
class Recurrent : public Layer {
 public:
  using Product = Recurrent;
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;
  std::vector<LayerPtr> layers() const override;

  /// The output, and the state in which the last step ended, each [batch, units].
  struct Outcome {
    /// [batch, units], or [batch, steps, units] with return_sequences.
    Value output;
    /// The state after the last step, each [batch, units].
    std::vector<Value> state;
  };
  /// As operator(), from an initial state, each [batch, units]; without one, from zeros or what a stateful layer kept.
  Outcome call_with_state(Value x, const std::vector<Value>& state = {}, bool training = false);
  /// Sets the state of a stateful layer to zeros.
  void reset_state();
  /// A new layer of the same options, but of another name and perhaps another direction.
  virtual std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const = 0;
  /// Whether steps run from the last to the first.
  bool goes_backwards() const { return options_.go_backwards; }
  /// Whether the output of each step is returned.
  bool returns_sequences() const { return options_.return_sequences; }
  /// Whether the last state is returned too.
  bool returns_state() const { return options_.return_state; }

 protected:
  /// What a step is made of, within the loop's body.
  struct Step {
    Value x;                         ///< inputs · kernel + bias, [batch, parts · units]: of all steps at once
    Value h;                         ///< the first of the state; in training without what is dropped
    std::span<const Value> state;    ///< what the step before handed on
    std::span<const Value> weights;  ///< `step_weights`
  };
  /// What a step hands on, each [batch, units].
  using State = std::vector<Value>;

  /// `parts`: how many times as wide as `units` the kernels are. `state`: what a step hands on, by name, h first.
  Recurrent(std::string_view class_name, RecurrentOptions options, std::int64_t parts,
            std::vector<std::string> state = {"h"});
  /// The state after a step. h is the output.
  virtual State step(const Step& now) const = 0;
  /// Within the outer trace: the weights that a step reads.
  virtual std::vector<Value> step_weights() const { return {recurrent_kernel()}; }
  /// What is added to inputs · kernel, [parts · units].
  virtual Value input_bias() const { return bias(); }
  /// The shape of the bias.
  virtual Shape bias_shape() const { return {parts_ * options_.units}; }

  /// copy() of a class whose options are described.
  template <class Class> std::shared_ptr<Recurrent> copy_of(bool go_backwards, const std::string& name) const {
    OptionsOf<Class> options = described_options<OptionsOf<Class>>();
    options.go_backwards = go_backwards;
    options.name = name;
    return std::make_shared<Class>(options);
  }
  /// Features of the state and of the output.
  std::int64_t units() const { return options_.units; }
  /// The kernel that the state is multiplied by, [units, parts · units].
  Value recurrent_kernel() const { return value_of(recurrent_kernel_); }
  /// Empty without use_bias.
  Value bias() const { return bias_ ? value_of(bias_) : Value{}; }

 private:
  void check_input(const Value& x) const;
  std::string state_names() const;
  State initial_state(const State& given, std::int64_t batch) const;
  Value project(Value x, bool training) const;
  Value keep(Value valid, std::span<const Value> before, State& after) const;
  Value output_of(Value steps, const State& last, bool masked) const;
  Value dropout_mask(const std::shared_ptr<Dropout>& dropout, std::int64_t batch, std::int64_t width) const;

  RecurrentOptions options_;
  std::int64_t parts_;
  std::vector<std::string> state_;
  std::shared_ptr<Dropout> dropout_, recurrent_dropout_;
  Variable kernel_, recurrent_kernel_, bias_;
  std::vector<Variable> kept_;  // of a stateful layer, as state_
};

/// Throws Error(value) listing the known names for a name that is none of them.
inline void check_known(const Activation& activation) {
  if (!activation.name().empty()) activations::get(activation.name());
}

}  // namespace etude
