#include "etude/layers/rnn_cell.hpp"

#include "etude/base/error.hpp"

namespace etude {

std::shared_ptr<RnnCell> cell_of(const LayerPtr& layer, const char* option, const std::string& where) {
  auto cell = std::dynamic_pointer_cast<RnnCell>(layer);
  check(cell != nullptr, ErrorKind::value, where, option, " = ", layer ? layer->class_name() : "no layer",
        " - expected a cell, such as LSTMCell - set ", option, '.');
  return cell;
}

std::string RnnCell::state_name(std::size_t state) const {
  return state ? "state_" + std::to_string(state) : std::string("state");
}

std::vector<Value> RnnCell::initial_states(const Shape& x) const {
  std::vector<Value> states;
  for (const Shape& shape : state_shapes(x)) states.push_back(Graph::current().constant(0, compute_dtype(), shape));
  return states;
}

std::shared_ptr<RnnCell> RnnCell::copy() const {
  fail(ErrorKind::value, where(),
       "a second cell is needed, and the class has no copy() - expected a new cell of the same options - override it.");
}

RnnCell::Parts RnnCell::parts(const Shape&, bool training) {
  return {[](Value x) { return x; },
          [this, training](Value x, const std::vector<Value>& states) {
            std::vector<Value> inputs{x};
            inputs.insert(inputs.end(), states.begin(), states.end());
            const Outputs outputs = (*this)(inputs, training);
            return Step{outputs.front(), {outputs.begin() + 1, outputs.end()}};
          }};
}

RnnCell::Step RnnCell::step_by_parts(Value x, const std::vector<Value>& states, bool training) {
  const Parts both = parts(x.shape(), training);
  return both.advance(both.project(x), states);
}

void RnnCell::check_states(const std::vector<Value>& states, const std::vector<Shape>& shapes, const char* what,
                           const char* advice) const {
  for (std::size_t i = 0; i < shapes.size(); ++i)
    check(states[i] && states[i].shape() == shapes[i], ErrorKind::shape, where(), what, " of shape ",
          states[i] ? states[i].shape() : Shape{}, " - expected ", shapes[i], " - ", advice, '.');
}

Value RnnCell::call(Value x, bool training) { return call_with({x}, training); }

Outputs RnnCell::call_with(const std::vector<Value>& inputs, bool training) {
  const Value x = inputs.front();
  check(x.shape().rank() > 0, ErrorKind::shape, where(), "input of shape ", x.shape(),
        " - expected [batch, ..] - reshape the data.");
  const std::vector<Shape> shapes = state_shapes(x.shape());
  check(!shapes.empty(), ErrorKind::value, where(),
        "no state - expected one or more - return their shapes from state_shapes().");
  check(inputs.size() == 1 || inputs.size() == 1 + shapes.size(), ErrorKind::value, where(), inputs.size(),
        " inputs - expected x, or x and ", shapes.size(), " states - pass all of them, or none.");
  std::vector<Value> states(inputs.begin() + 1, inputs.end());
  if (states.empty()) states = initial_states(x.shape());
  check_states(states, shapes, "a state", "pass one row for each sample");
  const Step made = step(x, states, training);
  check(static_cast<bool>(made.output), ErrorKind::value, where(),
        "a step that returns no output - expected a Value - return one.");
  check(made.output.shape() == step_output_shape(x.shape()), ErrorKind::shape, where(), "an output of shape ",
        made.output.shape(), " - expected ", step_output_shape(x.shape()),
        ", or another step_output_shape() - return one row for each sample.");
  check(made.states.size() == shapes.size(), ErrorKind::value, where(), "a step that returns ", made.states.size(),
        " states - expected ", shapes.size(), " - return the next value of each.");
  check_states(made.states, shapes, "a next state", "return one row for each sample");
  Outputs outputs{made.output};
  outputs.insert(outputs.end(), made.states.begin(), made.states.end());
  return outputs;
}

}  // namespace etude
