#include "etude/layers/recurrent.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/scan.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

using Values = std::span<const Value>;

/// The bias's own initializer, but ones for the forget gate: what was seen is kept at first.
class ForgetBias : public Initializer {
 public:
  explicit ForgetBias(Choice<Initializer> rest) : rest_(std::move(rest)) {}
  Tensor operator()(const Shape& shape, DType dtype) override {
    Tensor bias = (*initializers::get(rest_))(shape, dtype);
    const auto units = static_cast<std::size_t>(shape[0] / 4);
    visit_dtype(dtype, [&]<class T>(T) {
      for (std::size_t i = units; i < 2 * units; ++i) bias.data<T>()[i] = T(1);
    });
    return bias;
  }

 private:
  Choice<Initializer> rest_;
};

std::shared_ptr<Dropout> dropout_layer(double rate, std::optional<std::int64_t> seed, const std::string& dtype) {
  return rate == 0 ? nullptr : std::make_shared<Dropout>(DropoutOptions{rate, seed, {}, dtype});
}

}  // namespace

LSTM::LSTM(LSTMOptions options)
    : Layer("LSTM", {options.name, options.dtype, options.trainable}), options_(std::move(options)) {
  check(options_.units > 0, ErrorKind::value, where(), "units = ", options_.units,
        " - expected a positive number - set units.");
  for (const double rate : {options_.dropout, options_.recurrent_dropout})
    check(rate >= 0 && rate <= 1, ErrorKind::value, where(), "a dropout rate of ", rate,
          " - expected a number from 0 to 1 - set dropout or recurrent_dropout.");
  for (const Activation* activation : {&options_.activation, &options_.recurrent_activation})
    if (!activation->name().empty()) activations::get(activation->name());
  // Of one seed each has its own draws.
  const auto next_seed = options_.seed ? std::optional(*options_.seed + 1) : std::nullopt;
  dropout_ = dropout_layer(options_.dropout, options_.seed, options_.dtype);
  recurrent_dropout_ = dropout_layer(options_.recurrent_dropout, next_seed, options_.dtype);
  set_activity_regularizer(options_.activity_regularizer);
}

std::vector<LayerPtr> LSTM::layers() const {
  std::vector<LayerPtr> result;
  for (const auto& layer : {dropout_, recurrent_dropout_})
    if (layer) result.push_back(layer);
  return result;
}

void LSTM::build(const Shape& input_shape) {
  check(input_shape.rank() == 3, ErrorKind::shape, where(), "input of shape ", input_shape,
        " - expected [batch, steps, features] - reshape the data.");
  const std::int64_t units = options_.units;
  kernel_ = add_weight(
      {"kernel", {input_shape[2], 4 * units}, options_.kernel_initializer, true, options_.kernel_regularizer});
  recurrent_kernel_ = add_weight(
      {"recurrent_kernel", {units, 4 * units}, options_.recurrent_initializer, true, options_.recurrent_regularizer});
  Choice<Initializer> bias = options_.bias_initializer;
  if (options_.unit_forget_bias) bias = std::make_shared<ForgetBias>(bias);
  if (options_.use_bias) bias_ = add_weight({"bias", {4 * units}, bias, true, options_.bias_regularizer});
  if (!options_.stateful) return;
  check(input_shape[0] > 0, ErrorKind::shape, where(), "a stateful layer for batches of any size, ", input_shape,
        " - expected a fixed batch size - build it with one, or set stateful = false.");
  h_ = add_state("h", Tensor({input_shape[0], units}, variable_dtype()));
  c_ = add_state("c", Tensor({input_shape[0], units}, variable_dtype()));
}

void LSTM::reset_state() {
  if (h_) h_.fill(0), c_.fill(0);
}

void LSTM::check_input(const Value& x) const {
  const std::int64_t features = kernel_.shape()[0];
  check(x.shape().rank() == 3 && x.shape()[2] == features, ErrorKind::shape, where(),
        "expected input of shape [batch, steps, ", features, "], received ", x.shape(), ". The layer was built for ",
        features, " features; build a new one or check the data.");
  check(!h_ || x.shape()[0] == h_.shape()[0], ErrorKind::shape, where(), "a batch of ", x.shape()[0], " - expected ",
        h_ ? h_.shape()[0] : 0, ", for which the stateful layer was built - drop the last, short batch.");
}

Value LSTM::initial(Value given, const Variable& kept, std::int64_t batch) const {
  const Shape shape{batch, options_.units};
  if (!given) return kept ? value_of(kept) : Graph::current().constant(0, compute_dtype(), shape);
  check(given.shape() == shape, ErrorKind::shape, where(), "an initial state of shape ", given.shape(), " - expected ",
        shape, " - pass h and c, one row for each sample.");
  return given;
}

/// What the elements that are kept are scaled by, and 0 for the others.
Value LSTM::dropout_mask(const std::shared_ptr<Dropout>& dropout, std::int64_t batch, std::int64_t width) {
  return (*dropout)(Graph::current().constant(1, compute_dtype(), {batch, width}), true);
}

Value LSTM::call(Value x, bool training) { return call_with({x}, training); }

Outputs LSTM::call_with(const std::vector<Value>& inputs, bool training) {
  check(inputs.size() == 1 || inputs.size() == 3, ErrorKind::value, where(), inputs.size(),
        " inputs - expected x, or {x, h, c} - pass the initial state as two Values, or leave it out.");
  const Outcome outcome = inputs.size() == 1 ? call_with_state(inputs[0], {}, {}, training)
                                             : call_with_state(inputs[0], inputs[1], inputs[2], training);
  return options_.return_state ? Outputs{outcome.output, outcome.h, outcome.c} : Outputs{outcome.output};
}

LSTM::Outcome LSTM::call_with_state(Value x, Value h, Value c, bool training) {
  check_input(x);
  const std::int64_t batch = x.shape()[0], features = x.shape()[2];
  h = initial(h, h_, batch);
  c = initial(c, c_, batch);

  // What does not depend on the state is one product over all steps, before the loop.
  Value inputs = ops::transpose(x, {1, 0, 2});
  if (training && dropout_)
    inputs = inputs * ops::broadcast_to(dropout_mask(dropout_, batch, features), inputs.shape());
  Value projected = ops::matmul(inputs, value_of(kernel_));
  if (bias_) projected = projected + value_of(bias_);
  std::vector<Value> sequences{projected}, constants{value_of(recurrent_kernel_)};
  if (x.mask()) sequences.push_back(ops::expand_dims(ops::transpose(x.mask(), {1, 0}), -1));
  if (training && recurrent_dropout_) constants.push_back(dropout_mask(recurrent_dropout_, batch, options_.units));

  const auto step = [this](Values state, Values now, Values fixed) {
    const Value h_seen = fixed.size() > 1 ? state[0] * fixed[1] : state[0];
    const std::vector<Value> gates = ops::split(now[0] + ops::matmul(h_seen, fixed[0]), 4);
    const Value i = options_.recurrent_activation(gates[0]), f = options_.recurrent_activation(gates[1]);
    const Value g = options_.activation(gates[2]), o = options_.recurrent_activation(gates[3]);
    Value next_c = f * state[1] + i * g, next_h = o * options_.activation(next_c), output = next_h;
    if (now.size() > 1) {
      const Value counts = ops::broadcast_to(now[1], next_h.shape());
      if (options_.zero_output_for_mask) output = ops::where(counts, next_h, ops::scalar(0, next_h));
      next_h = ops::where(counts, next_h, state[0]);
      next_c = ops::where(counts, next_c, state[1]);
      if (!options_.zero_output_for_mask) output = next_h;
    }
    return ops::ScanStep{{next_h, next_c}, {output}};
  };
  const ops::ScanResult loop = ops::scan(step, {h, c}, sequences, constants, options_.go_backwards);
  if (h_) Graph::current().assign(h_, loop.carry[0]), Graph::current().assign(c_, loop.carry[1]);
  return {output_of(loop.outputs[0], loop.carry[0], static_cast<bool>(x.mask())), loop.carry[0], loop.carry[1]};
}

/// In the order in which the steps were taken; of the last one alone, the state, unless a mask put zeros there.
Value LSTM::output_of(Value steps, Value last, bool masked) const {
  if (options_.go_backwards) steps = ops::reverse(steps, 0);
  if (options_.return_sequences) return ops::transpose(steps, {1, 0, 2});
  if (!masked || !options_.zero_output_for_mask) return last;
  return ops::squeeze(ops::slice(steps, 0, steps.shape()[0] - 1, 1), 0);
}

}  // namespace etude
