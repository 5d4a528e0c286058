#include "etude/losses/hinge.hpp"

#include "etude/losses/detail/comparison.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::losses {
namespace {

Value as_signs(Value t) {
  const Value zero = ops::scalar(0, t), one = ops::scalar(1, t);
  const Value other = ops::logical_not(ops::logical_or(ops::equal(t, zero), ops::equal(t, one)));
  const Value binary = ops::equal(ops::all_reduce(ops::max(ops::cast(other, t.dtype()))), zero);
  return ops::where(binary, t * 2.0 - 1.0, t);
}

Value shortfall(Value t, Value p) { return ops::relu(1.0 - as_signs(t) * p); }

}  // namespace

LossPtr Hinge::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "hinge"),
                 [](Value t, Value p) { return ops::mean(shortfall(t, p), {-1}); });
}

LossPtr SquaredHinge::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "squared_hinge"),
                 [](Value t, Value p) { return ops::mean(ops::square(shortfall(t, p)), {-1}); });
}

LossPtr CategoricalHinge::make(const LossOptions& options) {
  return loss_of(about.name, named(options, "categorical_hinge"), [](Value t, Value p) {
    return ops::relu(ops::max((1.0 - t) * p, {-1}) - ops::sum(t * p, {-1}) + 1.0);
  });
}

}  // namespace etude::losses
