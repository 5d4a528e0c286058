#include "etude/losses/focal.hpp"

#include "etude/losses/detail/comparison.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::losses {
namespace {

Value power(Value x, double exponent) { return ops::power(x, ops::scalar(exponent, x)); }

Value binary_focal(const BinaryFocalCrossentropyOptions& o, Value t, Value y_pred) {
  if (const double s = o.label_smoothing; s > 0) t = t * (1 - s) + 0.5 * s;
  const Value probability = o.from_logits ? ops::sigmoid(y_pred) : y_pred;
  const Value p = ops::clip(probability, epsilon(), 1 - epsilon());
  const Value losses =
      o.from_logits ? ops::sigmoid_crossentropy(y_pred, t) : -(t * ops::log(p) + (1.0 - t) * ops::log(1.0 - p));
  Value weight = power(t * (1.0 - probability) + (1.0 - t) * probability, o.gamma);
  if (o.apply_class_balancing) weight = weight * (t * o.alpha + (1.0 - t) * (1 - o.alpha));
  return ops::mean(weight * losses, {o.axis});
}

Value categorical_focal(const CategoricalFocalCrossentropyOptions& o, Value y_true, Value y_pred) {
  Value t = with_last(y_true, o.axis);
  const Value given = with_last(y_pred, o.axis);
  if (const double s = o.label_smoothing; s > 0) t = t * (1 - s) + s / static_cast<double>(t.shape()[-1]);
  const Value probability = o.from_logits ? ops::softmax(given) : given / ops::sum(given, {-1}, true);
  const Value p = ops::clip(probability, epsilon(), 1 - epsilon());
  return -ops::sum(power(1.0 - p, o.gamma) * o.alpha * t * ops::log(p), {-1});
}

class CategoricalGeneralizedCrossEntropyLoss : public Loss {
 public:
  explicit CategoricalGeneralizedCrossEntropyLoss(const CategoricalGeneralizedCrossEntropyOptions& o)
      : Loss(o.name, reduction_from_name(o.reduction)), q_(o.q) {
    check(q_ > 0 && q_ < 1, ErrorKind::value, o.name, "q = ", q_, " - expected a number between 0 and 1 - set q.");
  }
  Value call(Value y_true, Value y_pred) override {
    const Value labels = labels_of("CategoricalGeneralizedCrossEntropy", y_true, y_pred);
    const Value p = ops::sum(y_pred * ops::one_hot(labels, y_pred.shape()[-1], y_pred.dtype()), {-1});
    return (1.0 - power(p, q_)) / q_;
  }

 private:
  double q_;
};

}  // namespace

LossPtr BinaryFocalCrossentropy::make(const BinaryFocalCrossentropyOptions& options) {
  check_smoothing(options.name, options.label_smoothing);
  return loss_of(
      about.name, options, [options](Value t, Value p) { return binary_focal(options, t, p); },
      Targets::of_equal_shape);
}

LossPtr CategoricalFocalCrossentropy::make(const CategoricalFocalCrossentropyOptions& options) {
  check_smoothing(options.name, options.label_smoothing);
  return loss_of(
      about.name, options, [options](Value t, Value p) { return categorical_focal(options, t, p); },
      Targets::of_equal_shape);
}

LossPtr CategoricalGeneralizedCrossEntropy::make(const CategoricalGeneralizedCrossEntropyOptions& o) {
  return std::make_shared<CategoricalGeneralizedCrossEntropyLoss>(o);
}

}  // namespace etude::losses
