#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etude/classes/auto_choice.hpp"
#include "etude/layers/kernel_cell.hpp"
#include "etude/layers/rnn_cell.hpp"

namespace etude {

/// use_cudnn of LSTM and GRU: "auto", true or false.
class UseCudnn : public AutoChoice {
 public:
  using AutoChoice::AutoChoice;
  /// Throws Error(value) for any other string than "auto".
  UseCudnn(const char* name) : AutoChoice(name, "recurrent layer", "use_cudnn") {}
};

/// The options of every recurrent layer, apart from those of its cell. The options of each class have these fields.
struct RecurrentOptions {
  Choice<Regularizer> activity_regularizer;
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false,
       zero_output_for_mask = false;
  /// The options of all layers.
  LayerOptions layer = {};
};

/// The rows of those fields.
template <class Options> constexpr auto recurrent_fields() {
  return option_rows(
      option<&Options::activity_regularizer>("Penalty on the result."),
      option<&Options::return_sequences>("Whether the output of each step is returned, not only that of the last."),
      option<&Options::return_state>("Whether the last state is returned too."),
      option<&Options::go_backwards>("Whether steps run from the last to the first."),
      option<&Options::stateful>("Whether a batch starts with the final state of the previous batch."),
      option<&Options::unroll>("Accepted, because configs of Keras have it: the loop is compiled once in either case."),
      option<&Options::zero_output_for_mask>("Whether the output of masked steps is 0."), layer_fields<Options>());
}

/// The row of the option that LSTM and GRU have besides.
template <class Options> constexpr auto cudnn_fields() {
  return option<&Options::use_cudnn>(
      "Accepted, because Keras has it: Étude's own loop computes the layer in either case. Not part of a config.");
}

/// These fields, as one struct.
template <class Options> RecurrentOptions recurrent_options(const Options& options) {
  return {.activity_regularizer = options.activity_regularizer,
          .return_sequences = options.return_sequences,
          .return_state = options.return_state,
          .go_backwards = options.go_backwards,
          .stateful = options.stateful,
          .zero_output_for_mask = options.zero_output_for_mask,
          .layer = {options.name, options.dtype, options.trainable}};
}

/// A loop of a cell over the steps of [batch, steps, ..]. -> the output of the last step, [batch, ..], or that of each
/// step, [batch, steps, ..] with return_sequences; with return_state also the states after the last step. Called on
/// {x, states..} it starts from these states instead of the cell's initial ones.
///
/// A masked step leaves the states unchanged and repeats the last output, which is zeros before the first valid step;
/// with zero_output_for_mask it returns zeros. The outputs of each step keep the mask. With go_backwards the
/// steps are processed, and returned, from the last to the first. A stateful layer starts a batch with the final
/// state of the previous one. The loop's body is compiled once, for any number of steps. Throws Error(shape) for
/// inputs of another rank, or of other features of a step, than at its build. Source: keras/src/layers/rnn/rnn.py.
class Recurrent : public Layer {
 public:
  using Product = Recurrent;
  void build(const Shape& input_shape) override;
  Value call(Value x, bool training) override;
  Outputs call_with(const std::vector<Value>& inputs, bool training) override;
  std::vector<LayerPtr> layers() const override { return {cell_}; }

  /// The output, and the states after the last step.
  struct Outcome {
    /// [batch, ..], or [batch, steps, ..] with return_sequences.
    Value output;
    /// The states after the last step, each [batch, ..].
    std::vector<Value> state;
  };
  /// Like operator(), from initial states, each [batch, ..]; without one, from the cell's initial state, or the state
  /// of a stateful layer.
  Outcome call_with_state(Value x, const std::vector<Value>& state = {}, bool training = false);
  /// Sets the state of a stateful layer to zeros.
  void reset_state();
  /// A new layer of the same options, but of another name and perhaps another direction.
  virtual std::shared_ptr<Recurrent> copy(bool go_backwards, const std::string& name) const = 0;
  /// Sets whether the output of masked steps is 0. Takes effect at the next trace; a config has the option.
  void set_zero_output_for_mask(bool zero) { options_.zero_output_for_mask = zero; }
  /// Whether a call on initial states uses the mask of x, as in Keras 2. In Keras 3 it does so only if the mask is an
  /// argument of the call, so a model in a file of Keras 3 may have false.
  bool uses_mask_with_states() const { return uses_mask_with_states_; }
  /// Sets it. Takes effect at the next trace.
  void set_uses_mask_with_states(bool uses) { uses_mask_with_states_ = uses; }
  /// The cell, which computes one step.
  const std::shared_ptr<RnnCell>& cell() const { return cell_; }
  /// Whether steps run from the last to the first.
  bool goes_backwards() const { return options_.go_backwards; }
  /// Whether the output of each step is returned.
  bool returns_sequences() const { return options_.return_sequences; }
  /// Whether the last state is returned too.
  bool returns_state() const { return options_.return_state; }

 protected:
  /// A loop of that cell.
  Recurrent(std::string_view class_name, RecurrentOptions options, std::shared_ptr<RnnCell> cell);

  /// None: call_with_state() sets the masks.
  Value mask_of(const std::vector<Value>&, Value) const override { return {}; }

  /// copy() of a class whose options are described.
  template <class Class> std::shared_ptr<Recurrent> copy_of(bool go_backwards, const std::string& name) const {
    OptionsOf<Class> options = described_options<OptionsOf<Class>>();
    options.go_backwards = go_backwards;
    options.name = name;
    return std::make_shared<Class>(options);
  }

 private:
  using States = std::vector<Value>;
  void check_input(const Value& x) const;
  std::string state_names(std::size_t count) const;
  States initial_states(const States& given, const Shape& step) const;
  Value keep(Value valid, const States& before, Value output, States& after) const;
  Value output_of(Value steps, const States& last, std::size_t states, bool masked) const;

  RecurrentOptions options_;
  bool uses_mask_with_states_ = true;
  std::shared_ptr<RnnCell> cell_;
  Shape built_shape_;
  std::vector<Variable> kept_;  // of a stateful layer, by state
};

}  // namespace etude
