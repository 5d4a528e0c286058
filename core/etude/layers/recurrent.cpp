#include "etude/layers/recurrent.hpp"

#include <algorithm>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/detail/scan.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

using Values = std::span<const Value>;

std::shared_ptr<Dropout> dropout_layer(double rate, std::optional<std::int64_t> seed, const std::string& dtype) {
  return rate == 0 ? nullptr : std::make_shared<Dropout>(DropoutOptions{.rate = rate, .seed = seed, .dtype = dtype});
}

}  // namespace

Recurrent::Recurrent(std::string_view class_name, RecurrentOptions options, std::int64_t parts,
                     std::vector<std::string> state)
    : Layer(class_name, options.layer), options_(std::move(options)), parts_(parts), state_(std::move(state)) {
  check(options_.units > 0, ErrorKind::value, where(), "units = ", options_.units,
        " - expected a positive number - set units.");
  for (const double rate : {options_.dropout, options_.recurrent_dropout})
    check(rate >= 0 && rate <= 1, ErrorKind::value, where(), "a dropout rate of ", rate,
          " - expected a number from 0 to 1 - set dropout or recurrent_dropout.");
  // With one seed, both have different draws.
  const auto next_seed = options_.seed ? std::optional(*options_.seed + 1) : std::nullopt;
  dropout_ = dropout_layer(options_.dropout, options_.seed, options_.layer.dtype);
  recurrent_dropout_ = dropout_layer(options_.recurrent_dropout, next_seed, options_.layer.dtype);
  set_activity_regularizer(options_.activity_regularizer);
  cast_integers();
}

std::vector<LayerPtr> Recurrent::layers() const {
  std::vector<LayerPtr> result;
  for (const auto& layer : {dropout_, recurrent_dropout_})
    if (layer) result.push_back(layer);
  return result;
}

void Recurrent::build(const Shape& input_shape) {
  check(input_shape.rank() == 3, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected [batch, steps, features] - reshape the data.");
  const std::int64_t width = checked::multiply(parts_, units(), where());
  kernel_ = add_weight({.name = "kernel",
                        .shape = {input_shape[2], width},
                        .initializer = options_.kernel_initializer,
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  recurrent_kernel_ = add_weight({.name = "recurrent_kernel",
                                  .shape = {units(), width},
                                  .initializer = options_.recurrent_initializer,
                                  .regularizer = options_.recurrent_regularizer,
                                  .constraint = options_.recurrent_constraint});
  if (options_.use_bias)
    bias_ = add_weight({.name = "bias",
                        .shape = bias_shape(),
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
  if (!options_.stateful) return;
  check(input_shape[0] > 0, ErrorKind::shape, where(), "a stateful layer for batches of any size, ", input_shape,
        " - expected a fixed batch size - build it with a batch size, or set stateful = false.");
  kept_.clear();
  for (const std::string& name : state_) kept_.push_back(add_state(name, {input_shape[0], units()}, variable_dtype()));
}

void Recurrent::reset_state() {
  for (Variable& kept : kept_) kept.fill(0);
}

void Recurrent::check_input(const Value& x) const {
  const std::int64_t features = kernel_.shape()[0];
  check(x.shape().rank() == 3 && x.shape()[2] == features, ErrorKind::shape, where(),
        "expected input of shape [batch, steps, ", features, "], received ", x.shape(), ". The layer was built for ",
        features, " features; build a new layer or check the data.");
  if (kept_.empty()) return;
  const std::int64_t batch = kept_.front().shape()[0];
  check(x.shape()[0] == batch, ErrorKind::shape, where(), "a batch of ", x.shape()[0], " - expected ", batch,
        ", for which the stateful layer was built - drop the last, short batch.");
}

/// The names of the states, for errors: "h, c".
std::string Recurrent::state_names() const {
  std::string names = state_.front();
  for (std::size_t i = 1; i < state_.size(); ++i) names += ", " + state_[i];
  return names;
}

Recurrent::State Recurrent::initial_state(const State& given, std::int64_t batch) const {
  check(given.empty() || given.size() == state_.size(), ErrorKind::value, where(), "an initial state of ", given.size(),
        " Values - expected ", state_names(), " - pass all of them, or none.");
  const Shape shape{batch, units()};
  State state = given;
  state.resize(state_.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!state[i]) state[i] = kept_.empty() ? Graph::current().constant(0, compute_dtype(), shape) : value_of(kept_[i]);
    check(state[i].shape() == shape, ErrorKind::shape, where(), "an initial state of shape ", state[i].shape(),
          " - expected ", shape, " - pass ", state_names(), ", one row for each sample.");
  }
  return state;
}

/// The scale of the elements that are kept, and 0 for the others.
Value Recurrent::dropout_mask(const std::shared_ptr<Dropout>& dropout, std::int64_t batch, std::int64_t width) const {
  return (*dropout)(Graph::current().constant(1, compute_dtype(), {batch, width}), true);
}

/// The part that does not depend on the state is one product over all steps, before the loop: [steps, batch, parts ·
/// units].
Value Recurrent::project(Value x, bool training) const {
  Value inputs = ops::transpose(x, {1, 0, 2});
  if (training && dropout_)
    inputs = inputs * ops::broadcast_to(dropout_mask(dropout_, x.shape()[0], x.shape()[2]), inputs.shape());
  const Value projected = ops::matmul(inputs, value_of(kernel_));
  return bias_ ? projected + input_bias() : projected;
}

Value Recurrent::call(Value x, bool training) { return call_with({x}, training); }

Outputs Recurrent::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == 1 || inputs.size() == 1 + state_.size(), ErrorKind::value, where(), inputs.size(),
        " inputs - expected x, or {x, ", state_names(), "} - pass all of the initial state, or omit it.");
  const Outcome outcome = call_with_state(inputs.front(), {inputs.begin() + 1, inputs.end()}, training);
  Outputs outputs{outcome.output};
  if (options_.return_state) outputs.insert(outputs.end(), outcome.state.begin(), outcome.state.end());
  return outputs;
}

Recurrent::Outcome Recurrent::call_with_state(Value x, const State& given, bool training) {
  check_input(x);
  const std::int64_t batch = x.shape()[0];
  const bool masked = static_cast<bool>(x.mask());
  const bool from_zeros = kept_.empty() && std::ranges::none_of(given, [](const Value& h) { return bool(h); });
  State initial = initial_state(given, batch);
  std::vector<Value> sequences{project(x, training)}, constants = step_weights();
  const std::size_t size = initial.size(), weights = constants.size();
  if (masked) sequences.push_back(ops::expand_dims(ops::transpose(x.mask(), {1, 0}), -1));
  if (training && recurrent_dropout_) constants.push_back(dropout_mask(recurrent_dropout_, batch, units()));
  // Started from zeros, a masked step repeats h. Otherwise its output is not h before the first valid step, and must be
  // carried too.
  if (masked && !options_.zero_output_for_mask && !from_zeros)
    initial.push_back(Graph::current().constant(0, compute_dtype(), {batch, units()}));

  const auto body = [&](Values before, Values now, Values fixed) {
    const Value h = fixed.size() > weights ? before[0] * fixed.back() : before[0];
    State after = step({now[0], h, before.first(size), fixed.first(weights)});
    const Value output = masked ? keep(now[1], before, after) : after[0];
    return ops::ScanStep{after, {output}};
  };
  const ops::ScanResult loop = ops::scan(body, initial, sequences, constants, options_.go_backwards);
  for (std::size_t i = 0; i < kept_.size(); ++i)
    Graph::current().assign(kept_[i], ops::cast(loop.carry[i], kept_[i].dtype()));
  return {output_of(loop.outputs[0], loop.carry, masked),
          {loop.carry.begin(), loop.carry.begin() + std::ptrdiff_t(size)}};
}

/// Restores the previous state of samples with a masked step, and returns the output.
Value Recurrent::keep(Value valid, Values before, State& after) const {
  valid = ops::broadcast_to(valid, after[0].shape());
  const Value h = after[0];
  for (std::size_t i = 0; i < after.size(); ++i) after[i] = ops::where(valid, after[i], before[i]);
  if (options_.zero_output_for_mask) return ops::where(valid, h, ops::scalar(0, h));
  if (before.size() > after.size()) after.push_back(ops::where(valid, h, before.back()));
  return before.size() > state_.size() ? after.back() : after[0];
}

/// The outputs in the order of the steps; for the last one only, the final state, unless a mask sets it to zeros.
Value Recurrent::output_of(Value steps, const State& last, bool masked) const {
  if (options_.go_backwards) steps = ops::reverse(steps, 0);
  if (options_.return_sequences) return ops::transpose(steps, {1, 0, 2});
  if (!masked || !options_.zero_output_for_mask) return last.size() > state_.size() ? last.back() : last[0];
  return ops::squeeze(ops::slice(steps, 0, steps.shape()[0] - 1, 1), 0);
}

}  // namespace etude
