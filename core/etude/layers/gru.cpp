#include "etude/layers/gru.hpp"

#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

GRU::GRU(const GRUOptions& options)
    : Recurrent(about.name, recurrent_options(options), 3),
      activation_(options.activation),
      recurrent_activation_(options.recurrent_activation),
      reset_after_(options.reset_after) {
  describe({class_entry<GRU>, options});
  check_known(activation_);
  check_known(recurrent_activation_);
}

Shape GRU::bias_shape() const { return reset_after_ ? Shape{2, 3 * units()} : Shape{3 * units()}; }

Value GRU::input_bias() const { return reset_after_ ? ops::squeeze(ops::slice(bias(), 0, 0, 1), 0) : bias(); }

/// With reset after the product: U of all gates, and d. With reset before it: U of z and r, and that of g.
std::vector<Value> GRU::step_weights() const {
  const Value kernel = recurrent_kernel();
  if (!reset_after_) return {ops::slice(kernel, 1, 0, 2 * units()), ops::slice(kernel, 1, 2 * units(), units())};
  if (!bias()) return {kernel};
  return {kernel, ops::squeeze(ops::slice(bias(), 0, 1, 1), 0)};
}

Recurrent::State GRU::step(const Step& now) const {
  const std::vector<Value> x = ops::split(now.x, 3);
  Value product = ops::matmul(now.h, now.weights[0]);
  if (reset_after_ && now.weights.size() > 1) product = product + now.weights[1];
  const std::vector<Value> h = ops::split(product, reset_after_ ? 3 : 2);

  const Value z = recurrent_activation_(x[0] + h[0]), r = recurrent_activation_(x[1] + h[1]);
  const Value g = activation_(x[2] + (reset_after_ ? r * h[2] : ops::matmul(r * now.h, now.weights[1])));
  return {z * now.state[0] + (1 - z) * g};
}

std::shared_ptr<Recurrent> GRU::copy(bool go_backwards, const std::string& name) const {
  return copy_of<GRU>(go_backwards, name);
}

}  // namespace etude
