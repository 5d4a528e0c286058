#include "etude/layers/kernel_cell.hpp"

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

std::shared_ptr<Dropout> dropout_layer(double rate, std::optional<std::int64_t> seed, const std::string& dtype) {
  return rate == 0 ? nullptr : std::make_shared<Dropout>(DropoutOptions{.rate = rate, .seed = seed, .dtype = dtype});
}

}  // namespace

KernelCell::KernelCell(std::string_view class_name, KernelCellOptions options, std::int64_t gates,
                       std::vector<std::string> state_names)
    : RnnCell(class_name, options.layer),
      options_(std::move(options)),
      gates_(gates),
      state_names_(std::move(state_names)) {
  check(options_.units > 0, ErrorKind::value, where(), options_.units_option, " = ", options_.units,
        " - expected a positive number - set ", options_.units_option, '.');
  for (const double rate : {options_.dropout, options_.recurrent_dropout})
    check(rate >= 0 && rate <= 1, ErrorKind::value, where(), "a dropout rate of ", rate,
          " - expected a number from 0 to 1 - set dropout or recurrent_dropout.");
  // With one seed, both have different draws.
  const auto next_seed = options_.seed ? std::optional(*options_.seed + 1) : std::nullopt;
  dropout_ = dropout_layer(options_.dropout, options_.seed, options_.layer.dtype);
  recurrent_dropout_ = dropout_layer(options_.recurrent_dropout, next_seed, options_.layer.dtype);
  cast_integers();
}

std::vector<LayerPtr> KernelCell::layers() const {
  std::vector<LayerPtr> result;
  for (const auto& layer : {dropout_, recurrent_dropout_})
    if (layer) result.push_back(layer);
  return result;
}

std::vector<Shape> KernelCell::state_shapes(const Shape& x) const {
  return std::vector<Shape>(state_names_.size(), {x[0], units()});
}

std::pair<Shape, Shape> KernelCell::kernel_shapes(const Shape& x) const {
  check(x.rank() == 2, ErrorKind::shape, where(), "steps of shape ", x,
        " - expected [batch, features] - reshape the data.");
  const std::int64_t width = checked::multiply(gates_, units(), where());
  return {{x[1], width}, {units(), width}};
}

void KernelCell::build(const Shape& x) {
  const auto [kernel, recurrent_kernel] = kernel_shapes(x);
  kernel_ = add_weight({.name = "kernel",
                        .shape = kernel,
                        .initializer = options_.kernel_initializer,
                        .regularizer = options_.kernel_regularizer,
                        .constraint = options_.kernel_constraint});
  recurrent_kernel_ = add_weight({.name = "recurrent_kernel",
                                  .shape = recurrent_kernel,
                                  .initializer = options_.recurrent_initializer,
                                  .regularizer = options_.recurrent_regularizer,
                                  .constraint = options_.recurrent_constraint});
  if (options_.use_bias)
    bias_ = add_weight({.name = "bias",
                        .shape = bias_shape(),
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer,
                        .constraint = options_.bias_constraint});
}

/// The scale of the elements that are kept, and 0 for the others; empty if there is no dropout.
Value KernelCell::dropout_mask(const std::shared_ptr<Dropout>& dropout, const Shape& shape, bool training) const {
  if (!training || !dropout) return {};
  return (*dropout)(Graph::current().constant(1, compute_dtype(), shape), true);
}

Value KernelCell::project(Value x) const {
  check(x.shape()[-1] == kernel_.shape()[0], ErrorKind::shape, where(), "expected steps of shape [batch, ",
        kernel_.shape()[0], "], received ", x.shape().slice(x.shape().rank() - 2, x.shape().rank()),
        ". The cell was built for ", kernel_.shape()[0], " features; build a new cell or check the data.");
  const Value projected = ops::matmul(x, kernel());
  return bias_ ? projected + input_bias() : projected;
}

RnnCell::Parts KernelCell::parts(const Shape& x, bool training) {
  const Value of_inputs = dropout_mask(dropout_, x, training);
  const Value of_state = dropout_mask(recurrent_dropout_, state_shapes(x).front(), training);
  return {[this, of_inputs](Value inputs) {
            inputs = ops::cast(inputs, compute_dtype());
            return project(of_inputs ? inputs * ops::broadcast_to(of_inputs, inputs.shape()) : inputs);
          },
          [of_state, advance = advance()](Value projected, const std::vector<Value>& states) {
            std::vector<Value> next = advance(projected, of_state ? states.front() * of_state : states.front(), states);
            return Step{next.front(), std::move(next)};
          }};
}

}  // namespace etude
