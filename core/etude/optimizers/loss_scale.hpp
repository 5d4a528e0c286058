#pragma once

#include <string>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude {

/// The factor of a loss, so that its gradients are in the range of half precision. It doubles after a number of finite
/// steps; a gradient that is infinite or NaN halves it, and its step is skipped. Source:
/// keras/src/optimizers/loss_scale_optimizer.py.
class LossScale {
 public:
  /// The names of its variables begin with `name`. Throws Error(value) unless both numbers are positive.
  LossScale(const std::string& name, double initial_scale, std::int64_t growth_steps);

  /// The initial factor.
  double initial_scale() const { return initial_scale_; }
  /// The number of consecutive finite steps after which the factor doubles.
  std::int64_t growth_steps() const { return growth_steps_; }
  /// The number of consecutive finite steps, and the factor.
  std::vector<Variable> variables() const { return {good_steps_, scale_}; }

  /// Within a trace: the factor in this step.
  Value value() const { return Graph::current().read(scale_); }
  /// Within a trace: whether all gradients are finite, a bool.
  static Value all_finite(const std::vector<Value>& gradients);
  /// Within a trace: assigns the factor of the next step.
  void follow(Value finite) const;

 private:
  double initial_scale_;
  std::int64_t growth_steps_;
  Variable good_steps_, scale_;
};

}  // namespace etude
