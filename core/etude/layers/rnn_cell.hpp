#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/layers/layer.hpp"

namespace etude {

/// One step of a recurrent layer, as a layer of its own. RNN runs it over the steps of a sequence. A subclass defines
/// the shapes of its states and its step:
///
///     class Leaky : public RnnCell {
///      public:
///       explicit Leaky(std::int64_t units) : RnnCell("Leaky"), units_(units) {}
///       std::vector<LayerPtr> layers() const override { return {dense_}; }
///       std::vector<Shape> state_shapes(const Shape& x) const override { return {{x[0], units_}}; }
///       Step step(Value x, const std::vector<Value>& states, bool training) override {
///         const Value y = 0.9 * states[0] + (*dense_)(x, training);
///         return {y, {y}};
///       }
///
///      private:
///       std::int64_t units_;
///       LayerPtr dense_ = layers::dense({.units = units_});
///     };
///
/// Called alone on {x, states..} it returns {output, next states..}; on x alone it starts from its initial states. The
/// step is traced once for all steps of a sequence: it may read variables and call layers, but neither assign variables
/// nor draw random numbers nor add losses. Throws Error(value) for a step that returns no output, or another number of
/// states than state_shapes(), and Error(shape) for states of other shapes.
/// Source: keras/src/layers/rnn/rnn.py, which calls the step `call` and the shapes `state_size`.
class RnnCell : public Layer {
 public:
  using Layer::Layer;

  /// The results of a step.
  struct Step {
    /// The output of the step, [batch, ..].
    Value output;
    /// The states after the step, as many as before it and of the same shapes.
    std::vector<Value> states;
  };
  /// The shapes of the states for a step's input of shape `x`, batch axis included.
  virtual std::vector<Shape> state_shapes(const Shape& x) const = 0;
  /// The shape of the output for a step's input of shape `x`; by default that of the first state.
  virtual Shape step_output_shape(const Shape& x) const { return state_shapes(x).front(); }
  /// The dtype of the output; by default that of computation.
  virtual DType output_dtype() const { return compute_dtype(); }
  /// The name of a state, for errors and variables: "state", "state_1", …
  virtual std::string state_name(std::size_t state) const;
  /// Within a trace: the states before the first step; zeros by default.
  virtual std::vector<Value> initial_states(const Shape& x) const;
  /// One step: x [batch, ..] and the states before it.
  virtual Step step(Value x, const std::vector<Value>& states, bool training) = 0;
  /// The number of the state that always equals the output, if there is one: a loop need not carry the output then.
  virtual std::optional<std::size_t> output_state() const { return {}; }
  /// A new cell of the same options, for a layer that needs a second one, such as Bidirectional. Throws Error(value)
  /// unless a subclass overrides it.
  virtual std::shared_ptr<RnnCell> copy() const;

  /// A step in two parts: step(x, states) = advance(project(x), states). A loop computes the first for all steps at
  /// once.
  struct Parts {
    /// The part of x that does not depend on the states, for one step [batch, ..] or all steps [steps, batch, ..].
    std::function<Value(Value x)> project;
    /// The rest of the step.
    std::function<Step(Value projected, const std::vector<Value>& states)> advance;
  };
  /// Within a trace, before a loop over steps of shape `x`: may draw dropout masks, which all steps share. By default
  /// all of the step is in `advance`.
  virtual Parts parts(const Shape& x, bool training);

  Value call(Value x, bool training) final;
  Outputs call_with(const std::vector<Value>& inputs, bool training) final;
  /// Creates the variables for steps of shape `x`, unless they exist.
  void build_step(const Shape& x) { build_once({x}); }

 protected:
  /// A step by its parts, for classes that override parts().
  Step step_by_parts(Value x, const std::vector<Value>& states, bool training);
  /// copy() of a class whose options are described. The cell within an LSTM, GRU or SimpleRNN has no description.
  template <class Class> std::shared_ptr<RnnCell> copy_of() const {
    if (description().empty()) return RnnCell::copy();
    return std::make_shared<Class>(described_options<OptionsOf<Class>>());
  }

 private:
  void check_states(const std::vector<Value>& states, const std::vector<Shape>& shapes, const char* what,
                    const char* advice) const;
};

/// The cell that `layer` is, the option `option` of the layer `where`. Throws Error(value) for any other layer.
std::shared_ptr<RnnCell> cell_of(const LayerPtr& layer, const char* option, const std::string& where);

}  // namespace etude
