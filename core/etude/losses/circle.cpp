#include "etude/losses/circle.hpp"

#include <cmath>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::losses {
namespace {

/// The logarithm of the sum of exp(x) over the last axis, where the condition holds; -1e30 where it never does.
Value log_sum_exp(Value x, Value condition) {
  const Value kept = ops::where(condition, x, ops::scalar(-1e30, x));
  const Value largest = ops::stop_gradient(ops::max(kept, {-1}, true));
  return ops::squeeze(largest, -1) + ops::log(ops::sum(ops::exp(kept - largest), {-1}));
}

/// Whether row and column of [rows, rows] are equal.
Value diagonal(std::int64_t rows) {
  return ops::equal(ops::cumsum(ops::ones({rows, 1}), 0), ops::cumsum(ops::ones({1, rows}), 1));
}

/// Whether labels are [batch] or [batch, 1].
bool fits(const Shape& labels, std::int64_t batch) {
  return labels.rank() > 0 && labels[0] == batch && (labels.rank() == 1 || labels == Shape{batch, 1});
}

class CircleLoss : public Loss {
 public:
  explicit CircleLoss(const CircleOptions& o) : Loss(o.name, reduction_from_name(o.reduction)), options_(o) {
    const auto check_number = [&](const char* what, double number) {
      check(std::isfinite(number) && number >= 0, ErrorKind::value, o.name, what, " = ", number,
            " - expected a finite number of 0 or more - set ", what, '.');
    };
    check_number("gamma", o.gamma);
    check_number("margin", o.margin);
  }

  Value call(Value y_true, Value y_pred) override {
    const Shape& p = y_pred.shape();
    check(
        p.rank() == 2 && fits(y_true.shape(), p[0]), ErrorKind::shape, "Circle", "y_true of shape ", y_true.shape(),
        " and y_pred of shape ", p,
        " - expected integer labels [batch] and embeddings [batch, features] - check the targets and the last layer.");
    const Value labels = ops::cast(y_true, DType::int32);
    const Value same = ops::equal(ops::reshape(labels, {p[0], 1}), ops::reshape(labels, {1, p[0]}));
    const Value other = ops::logical_not(same);
    const Value pairs = options_.remove_diagonal ? ops::logical_and(same, ops::logical_not(diagonal(p[0]))) : same;
    // Rounding may give a cosine above 1.
    const Value distance = ops::relu(1 - ops::matmul(y_pred, y_pred, false, true));
    const double margin = options_.margin, gamma = options_.gamma;
    const Value near = (distance + margin) * (distance - margin) * gamma;
    const Value far = ops::relu(1 + margin - distance) * (1 - margin - distance) * gamma;
    return ops::softplus(log_sum_exp(near, pairs) + log_sum_exp(far, other));
  }

  Value own_mask(Value, Value losses) const override { return ops::less(ops::scalar(0, losses), losses); }

 private:
  CircleOptions options_;
};

}  // namespace

LossPtr Circle::make(const CircleOptions& options) { return std::make_shared<CircleLoss>(options); }

}  // namespace etude::losses
