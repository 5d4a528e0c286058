#include "etude/optimizers/loss_scale.hpp"

#include <cmath>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"

namespace etude {

LossScale::LossScale(const std::string& name, double initial_scale, std::int64_t growth_steps)
    : initial_scale_(initial_scale),
      growth_steps_(growth_steps),
      good_steps_(name + "/step_counter", Tensor({}, DType::int32), false),
      scale_(name + "/dynamic_scale", Tensor(Shape{}), false) {
  check(std::isfinite(initial_scale) && initial_scale > 0, ErrorKind::value, name, "initial_scale = ", initial_scale,
        " - expected a finite number above 0 - set initial_scale, or leave it out.");
  check(growth_steps > 0, ErrorKind::value, name, "dynamic_growth_steps = ", growth_steps,
        " - expected 1 or more - set dynamic_growth_steps, or leave it out.");
  scale_.fill(initial_scale);
}

/// x · 0 is NaN if x is not finite.
Value LossScale::all_finite(const std::vector<Value>& gradients) {
  Value sum;
  for (const Value& gradient : gradients) {
    const Value zeros = ops::cast(ops::sum(gradient * 0.0), DType::float32);
    sum = sum ? sum + zeros : zeros;
  }
  return ops::is_finite(sum);
}

void LossScale::follow(Value finite) const {
  Graph& graph = Graph::current();
  const Value scale = value(), steps = graph.read(good_steps_) + 1, none = ops::scalar(0, steps);
  // Limited: twice 0 would be 0, and half of infinity infinite.
  const Value larger = ops::minimum(scale * 2.0, ops::scalar(0x1p126, scale)),
              smaller = ops::maximum(scale / 2.0, ops::scalar(0x1p-14, scale));
  const Value grows = ops::equal(steps, ops::scalar(static_cast<double>(growth_steps_), steps));
  graph.assign(good_steps_, ops::where(ops::logical_and(finite, ops::logical_not(grows)), steps, none));
  graph.assign(scale_, ops::where(finite, ops::where(grows, larger, scale), smaller));
}

}  // namespace etude
