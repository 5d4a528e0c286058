#include "etude/activations/activations.hpp"

#include <numbers>

#include "etude/classes/class_table.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Value Activation::operator()(Value x) const {
  if (function_) return function_(x);
  return name_.empty() ? x : activations::get(name_)(x);
}

namespace activations {

Activation::Function get(const std::string& name) {
  return *make_of<Activation::Function>(class_table<Activation>().named(name));
}

namespace {

/// The smaller number, with the gradient 0 where both are equal: the constant comes first.
Value below(double high, Value y) { return ops::minimum(ops::scalar(high, y), y); }
/// y limited to [0, 1], with the gradient 0 at both bounds.
Value within_one(Value y) { return below(1, ops::maximum(ops::scalar(0, y), y)); }

}  // namespace

Value relu(Value x, const ReluOptions& options) {
  const auto sloped = [&] {
    const Value threshold = ops::scalar(options.threshold, x);
    return ops::where(ops::less(threshold, x), x, (x - threshold) * options.negative_slope);
  };
  const Value y = options.threshold == 0 && options.negative_slope == 0 ? ops::relu(x) : sloped();
  if (!options.max_value) return y;
  // Keras has an op for 6, whose gradient differs at 6.
  const double most = *options.max_value;
  return most == 6 && options.threshold == 0 ? below(most, y) : ops::minimum(y, ops::scalar(most, y));
}

Value leaky_relu(Value x, const LeakyReluOptions& options) {
  return relu(x, {.negative_slope = options.negative_slope});
}

Value relu6(Value x) { return relu(x, {.max_value = 6}); }

// Positive x are replaced by 0 before exp: where exp(x) overflows, its gradient would be 0 · infinity. At 0 the
// gradient is alpha, because there x is not replaced.
Value elu(Value x, const EluOptions& options) {
  const Value zero = ops::scalar(0, x), above = ops::less(zero, x);
  const Value below = (ops::exp(ops::where(above, zero, x)) - 1.0) * options.alpha;
  return ops::where(above, x, below);
}

Value selu(Value x) { return elu(x, {.alpha = 1.6732632423543772}) * 1.0507009873554805; }

Value celu(Value x, const CeluOptions& options) { return elu(x / options.alpha) * options.alpha; }

Value gelu(Value x, const GeluOptions& options) {
  if (!options.approximate) return x * 0.5 * (ops::erf(x * (1 / std::numbers::sqrt2)) + 1.0);
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return x * 0.5 * (ops::tanh((x + ops::square(x) * x * 0.044715) * scale) + 1.0);
}

Value silu(Value x) { return x * ops::sigmoid(x); }
Value mish(Value x) { return x * ops::tanh(ops::softplus(x)); }
Value softsign(Value x) { return x / (ops::absolute(x) + 1.0); }
Value squareplus(Value x, const SquareplusOptions& options) {
  return (x + ops::sqrt(ops::square(x) + options.b)) * 0.5;
}

Value log_sigmoid(Value x) { return -ops::softplus(-x); }
Value hard_sigmoid(Value x) { return within_one(x / 6.0 + 0.5); }
Value hard_silu(Value x) { return x * hard_sigmoid(x); }
Value hard_tanh(Value x) { return ops::clip(x, -1, 1); }
Value tanh_shrink(Value x) { return x - ops::tanh(x); }

Value hard_shrink(Value x, const HardShrinkOptions& options) {
  return ops::where(ops::less(ops::scalar(options.threshold, x), ops::absolute(x)), x, ops::scalar(0, x));
}
Value soft_shrink(Value x, const SoftShrinkOptions& options) {
  return x - ops::clip(x, -options.threshold, options.threshold);
}
Value threshold(Value x, const ThresholdOptions& options) {
  return ops::where(ops::less(ops::scalar(options.threshold, x), x), x, ops::scalar(options.default_value, x));
}

Value sparse_plus(Value x) {
  const Value one = ops::scalar(1, x);
  return ops::where(ops::less(x, one), ops::square(ops::relu(x + 1.0)) * 0.25, x);
}
Value sparse_sigmoid(Value x) { return within_one((x + 1.0) * 0.5); }

Value softmax(Value x, const std::vector<std::ptrdiff_t>& axes) {
  const Value e = ops::exp(x - ops::stop_gradient(ops::max(x, axes, true)));
  return e / ops::sum(e, axes, true);
}

Value log_softmax(Value x, const std::vector<std::ptrdiff_t>& axes) {
  const Value shifted = x - ops::stop_gradient(ops::max(x, axes, true));
  return shifted - ops::log(ops::sum(ops::exp(shifted), axes, true));
}

// An entry belongs to the support if 1 + n · x exceeds the sum of the n entries that are as large as it or larger; so
// no sorting is needed, and equal entries belong to it together.
Value sparsemax(Value x, std::ptrdiff_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(x.shape().axis(axis, "sparsemax"));
  // [.., own, other, ..]
  const Value own = ops::expand_dims(x, at + 1), others = ops::expand_dims(x, at);
  const Value larger = ops::cast(ops::less_equal(own, others), x.dtype());
  const Value count = ops::sum(larger, {at + 1}), total = ops::sum(larger * others, {at + 1});
  const Value supports = ops::cast(ops::less(total, count * x + 1.0), x.dtype());
  const Value excess = (ops::sum(supports * x, {at}, true) - 1.0) / ops::sum(supports, {at}, true);
  return ops::relu(x - excess);
}

Value glu(Value x, std::ptrdiff_t axis) {
  const std::vector<Value> halves = ops::split(x, 2, axis);
  return halves[0] * ops::sigmoid(halves[1]);
}

}  // namespace activations
}  // namespace etude
