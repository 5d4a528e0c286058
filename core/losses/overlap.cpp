#include "etude/losses/overlap.hpp"

#include "etude/losses/comparison.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::losses {
namespace {

std::vector<std::ptrdiff_t> axes_of(const Integers& axis) { return {axis.all().begin(), axis.all().end()}; }

}  // namespace

LossPtr dice(DiceOptions options) {
  return loss_of("Dice", options, [axes = axes_of(options.axis)](Value t, Value p) {
    return 1.0 - ops::sum(t * p, axes) * 2.0 / (ops::sum(t, axes) + ops::sum(p, axes) + epsilon);
  });
}

LossPtr tversky(TverskyOptions options) {
  return loss_of("Tversky", options, [o = options, axes = axes_of(options.axis)](Value t, Value p) {
    const Value both = ops::sum(t * p, axes);
    const Value surplus = ops::sum((1.0 - t) * p, axes), missed = ops::sum(t * (1.0 - p), axes);
    return 1.0 - both / (both + surplus * o.alpha + missed * o.beta + epsilon);
  });
}

}  // namespace etude::losses
