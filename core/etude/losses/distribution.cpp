#include "etude/losses/distribution.hpp"

#include "etude/losses/detail/comparison.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::losses {

LossPtr KLDivergence::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "kl_divergence"), [](Value y_true, Value y_pred) {
    const Value t = ops::clip(y_true, epsilon(), 1), p = ops::clip(y_pred, epsilon(), 1);
    return ops::sum(t * ops::log(t / p), {-1});
  });
}

LossPtr Poisson::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "poisson"),
                 [](Value t, Value p) { return ops::mean(p - t * ops::log(p + epsilon()), {-1}); });
}

}  // namespace etude::losses
