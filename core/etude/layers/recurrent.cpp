#include "etude/layers/recurrent.hpp"

#include <numeric>
#include <span>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/ops/detail/scan.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

/// [batch, steps, ..] -> [steps, batch, ..], or back.
Value swap_batch_and_steps(Value x) {
  std::vector<std::uint8_t> axes(x.shape().rank());
  std::iota(axes.begin(), axes.end(), std::uint8_t{0});
  std::swap(axes[0], axes[1]);
  return ops::transpose(x, axes);
}

/// Whether it is a constant 0, in any shape.
bool is_zero(const Value& x) {
  const auto* constant = std::get_if<op::Constant>(&x.op());
  return constant && constant->value == 0;
}

/// A condition for each sample, [batch, 1], in the shape of a state.
Value for_all_elements(Value condition, const Shape& shape) {
  Shape rows = shape;
  for (std::size_t axis = 1; axis < rows.rank(); ++axis) rows[std::ptrdiff_t(axis)] = 1;
  return ops::broadcast_to(ops::reshape(condition, rows), shape);
}

}  // namespace

Recurrent::Recurrent(std::string_view class_name, RecurrentOptions options, std::shared_ptr<RnnCell> cell)
    : Layer(class_name, options.layer), options_(std::move(options)), cell_(std::move(cell)) {
  check_can_hold(*cell_);
  set_activity_regularizer(options_.activity_regularizer);
}

void Recurrent::build(const Shape& input_shape) {
  check(input_shape.rank() >= 3, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected [batch, steps, features] - reshape the data.");
  built_shape_ = input_shape;
  const Shape step = input_shape.without(1);
  cell_->build_step(step);
  if (!options_.stateful) return;
  check(input_shape[0] > 0, ErrorKind::shape, where(), "a stateful layer for batches of any size, ", input_shape,
        " - expected a fixed batch size - build it with a batch size, or set stateful = false.");
  kept_.clear();
  for (const Shape& shape : cell_->state_shapes(step))
    kept_.push_back(add_state(cell_->state_name(kept_.size()), shape, variable_dtype()));
}

void Recurrent::reset_state() {
  for (Variable& kept : kept_) kept.fill(0);
}

void Recurrent::check_input(const Value& x) const {
  const Shape& shape = x.shape();
  const Shape sample = built_shape_.slice(2, built_shape_.rank());
  std::string expected;
  for (const std::int64_t extent : sample) expected += ", " + std::to_string(extent);
  const bool of_images = shape.rank() > 3;  // of any extents: the cell checks their channels
  check(shape.rank() == built_shape_.rank() && (of_images || shape[2] == sample[0]), ErrorKind::shape, where(),
        "expected input of shape [batch, steps", expected, "], received ", shape,
        ". The layer was built for such steps; build a new layer or check the data.");
  if (kept_.empty()) return;
  const std::int64_t batch = kept_.front().shape()[0];
  check(shape[0] == batch, ErrorKind::shape, where(), "a batch of ", shape[0], " - expected ", batch,
        ", for which the stateful layer was built - drop the last, short batch.");
}

/// The names of the states, for errors: "h, c".
std::string Recurrent::state_names(std::size_t count) const {
  std::string names = cell_->state_name(0);
  for (std::size_t i = 1; i < count; ++i) names += ", " + cell_->state_name(i);
  return names;
}

Recurrent::States Recurrent::initial_states(const States& given, const Shape& step) const {
  const std::vector<Shape> shapes = cell_->state_shapes(step);
  check(given.empty() || given.size() == shapes.size(), ErrorKind::value, where(), "an initial state of ", given.size(),
        " Values - expected ", state_names(shapes.size()), " - pass all of them, or none.");
  check(!shapes.empty(), ErrorKind::value, where(), "the cell ", cell_->class_name(),
        " has no state - expected one or more - return their shapes from state_shapes().");
  States states = cell_->initial_states(step);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const Value other = i < given.size() && given[i] ? given[i]
                        : kept_.empty()              ? Value{}
                                                     : Graph::current().read(kept_[i]);
    if (other) states[i] = ops::cast(other, states[i].dtype());
  }
  for (std::size_t i = 0; i < states.size(); ++i)
    check(states[i].shape() == shapes[i], ErrorKind::shape, where(), "an initial state of shape ", states[i].shape(),
          " - expected ", shapes[i], " - pass ", state_names(shapes.size()), ", one row for each sample.");
  return states;
}

Value Recurrent::call(Value x, bool training) { return call_with({x}, training); }

Outputs Recurrent::call_with(const std::vector<Value>& inputs, bool training) {
  check_input(inputs.front());
  const std::size_t states = cell_->state_shapes(inputs.front().shape().without(1)).size();
  check(inputs.size() == 1 || inputs.size() == 1 + states, ErrorKind::value, where(), inputs.size(),
        " inputs - expected x, or {x, ", state_names(states), "} - pass all of the initial state, or omit it.");
  const Outcome outcome = call_with_state(inputs.front(), {inputs.begin() + 1, inputs.end()}, training);
  Outputs outputs{outcome.output};
  if (options_.return_state) outputs.insert(outputs.end(), outcome.state.begin(), outcome.state.end());
  return outputs;
}

Recurrent::Outcome Recurrent::call_with_state(Value x, const States& given, bool training) {
  check_input(x);
  const Shape step = x.shape().without(1);
  const bool masked = x.mask() && (given.empty() || uses_mask_with_states_);
  check(!masked || x.mask().shape().rank() == 2, ErrorKind::shape, where(), "a mask of shape ",
        masked ? x.mask().shape() : Shape{}, " - expected [batch, steps] - mask whole steps.");
  const RnnCell::Parts parts = cell_->parts(step, training);
  States initial = initial_states(given, step);
  const std::size_t size = initial.size();
  std::vector<Value> sequences{parts.project(swap_batch_and_steps(x))};
  if (masked) sequences.push_back(ops::expand_dims(ops::transpose(x.mask(), {1, 0}), -1));
  // A masked step repeats the output, from zeros on. If that is a state which starts from zeros, it is carried already.
  const auto state = cell_->output_state();
  if (masked && !options_.zero_output_for_mask && !(state && is_zero(initial[*state])))
    initial.push_back(Graph::current().constant(0, cell_->output_dtype(), cell_->step_output_shape(step)));

  using Values = std::span<const Value>;
  const auto body = [&](Values before, Values now) {
    const States states(before.begin(), before.begin() + std::ptrdiff_t(size));
    RnnCell::Step made = parts.advance(now[0], states);
    if (masked) made.output = keep(now[1], {before.begin(), before.end()}, made.output, made.states);
    return ops::ScanStep{made.states, {made.output}};
  };
  const ops::ScanResult loop = ops::scan(body, initial, sequences, options_.go_backwards);
  for (std::size_t i = 0; i < kept_.size(); ++i)
    Graph::current().assign(kept_[i], ops::cast(loop.carry[i], kept_[i].dtype()));
  const Value output = output_of(loop.outputs[0], loop.carry, size, masked);
  return {options_.return_sequences ? output.with_mask(x.mask()) : output,
          {loop.carry.begin(), loop.carry.begin() + std::ptrdiff_t(size)}};
}

/// Restores the previous states of samples with a masked step, and returns the output.
Value Recurrent::keep(Value valid, const States& before, Value output, States& after) const {
  const std::size_t size = after.size();
  for (std::size_t i = 0; i < size; ++i)
    after[i] = ops::where(for_all_elements(valid, after[i].shape()), after[i], before[i]);
  valid = for_all_elements(valid, output.shape());
  if (options_.zero_output_for_mask) return ops::where(valid, output, ops::scalar(0, output));
  if (before.size() == size) return after[*cell_->output_state()];
  after.push_back(ops::where(valid, output, before.back()));
  return after.back();
}

/// The outputs in the order of the steps; for the last one only, a carried Value if it has it.
Value Recurrent::output_of(Value steps, const States& last, std::size_t states, bool masked) const {
  if (options_.go_backwards) steps = ops::reverse(steps, 0);
  if (options_.return_sequences) return swap_batch_and_steps(steps);
  if (last.size() > states) return last.back();
  if (cell_->output_state() && !(masked && options_.zero_output_for_mask)) return last[*cell_->output_state()];
  return ops::squeeze(ops::slice(steps, 0, steps.shape()[0] - 1, 1), 0);
}

}  // namespace etude
