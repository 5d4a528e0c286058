#include "etude/losses/overlap.hpp"

#include <algorithm>

#include "etude/losses/detail/comparison.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::losses {
namespace {

/// Sums over the whole batch, including its rows.
Value sum_over(Value x, const std::vector<std::ptrdiff_t>& axes) {
  const Value sum = ops::sum(x, axes);
  const auto is_batch = [&](std::ptrdiff_t axis) { return x.shape().axis(axis, "sum") == 0; };
  return axes.empty() || std::ranges::any_of(axes, is_batch) ? ops::all_reduce(sum) : sum;
}

std::vector<std::ptrdiff_t> axes_of(const Integers& axis) { return {axis.all().begin(), axis.all().end()}; }

}  // namespace

LossPtr Dice::make(const DiceOptions& options) {
  return loss_of(about.name, options, [axes = axes_of(options.axis)](Value t, Value p) {
    return 1.0 - sum_over(t * p, axes) * 2.0 / (sum_over(t, axes) + sum_over(p, axes) + epsilon());
  });
}

LossPtr Tversky::make(const TverskyOptions& options) {
  return loss_of(about.name, options, [o = options, axes = axes_of(options.axis)](Value t, Value p) {
    const Value both = sum_over(t * p, axes);
    const Value surplus = sum_over((1.0 - t) * p, axes), missed = sum_over(t * (1.0 - p), axes);
    return 1.0 - both / (both + surplus * o.alpha + missed * o.beta + epsilon());
  });
}

}  // namespace etude::losses
