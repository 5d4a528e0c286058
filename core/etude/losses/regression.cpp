#include "etude/losses/regression.hpp"

#include <numbers>

#include "etude/losses/detail/comparison.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::losses {
namespace {

Value log_of_one_more(Value x) { return ops::log(ops::maximum(x, ops::scalar(epsilon(), x)) + 1); }

/// x scaled to length 1 along an axis; zeros stay zeros, and have gradients of 0.
Value normalized(Value x, std::ptrdiff_t axis) {
  const Value squares = ops::sum(ops::square(x), {axis}, true);
  return x / ops::sqrt(ops::maximum(squares, ops::scalar(epsilon() * epsilon(), squares)));
}

}  // namespace

LossPtr MeanSquaredError::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "mean_squared_error"),
                 [](Value t, Value p) { return ops::mean(ops::square(t - p), {-1}); });
}

LossPtr MeanAbsoluteError::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "mean_absolute_error"),
                 [](Value t, Value p) { return ops::mean(ops::absolute(t - p), {-1}); });
}

LossPtr MeanAbsolutePercentageError::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "mean_absolute_percentage_error"), [](Value t, Value p) {
    const Value size = ops::maximum(ops::absolute(t), ops::scalar(epsilon(), t));
    return ops::mean(ops::absolute((t - p) / size), {-1}) * 100.0;
  });
}

LossPtr MeanSquaredLogarithmicError::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "mean_squared_logarithmic_error"), [](Value t, Value p) {
    return ops::mean(ops::square(log_of_one_more(t) - log_of_one_more(p)), {-1});
  });
}

LossPtr Huber::make(const HuberOptions& options) {
  return loss_of(about.name, options, [delta = options.delta](Value t, Value p) {
    const Value size = ops::absolute(t - p);
    const Value near = ops::less_equal(size, ops::scalar(delta, size));
    return ops::mean(ops::where(near, ops::square(size) * 0.5, size * delta - 0.5 * delta * delta), {-1});
  });
}

LossPtr LogCosh::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "log_cosh"), [](Value t, Value p) {
    const Value e = p - t;
    return ops::mean(e + ops::softplus(e * -2.0) - std::numbers::ln2, {-1});
  });
}

LossPtr CosineSimilarity::make(const CosineSimilarityOptions& options) {
  return loss_of(
      about.name, options,
      [axis = options.axis](Value t, Value p) { return -ops::sum(normalized(t, axis) * normalized(p, axis), {axis}); },
      Targets::of_equal_shape);
}

}  // namespace etude::losses
