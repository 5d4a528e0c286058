#pragma once

#include <string>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude {

/// By what a loss is multiplied so that its gradients are numbers of half precision. It doubles after each so many
/// steps that went well; a step with a gradient that is infinite or NaN halves it, and is not taken. Source:
/// keras/src/optimizers/loss_scale_optimizer.py.
class LossScale {
 public:
  /// Its variables' names begin with `name`. Throws Error(value) unless both numbers are positive.
  LossScale(const std::string& name, double initial_scale, std::int64_t growth_steps);

  /// The factor at first.
  double initial_scale() const { return initial_scale_; }
  /// Finite steps in a row after which the factor doubles.
  std::int64_t growth_steps() const { return growth_steps_; }
  /// The number of finite steps in a row, and the factor.
  std::vector<Variable> variables() const { return {good_steps_, scale_}; }

  /// Within a trace: what it is in this step.
  Value value() const { return Graph::current().read(scale_); }
  /// Within a trace: whether all gradients are finite, a bool.
  static Value all_finite(const std::vector<Value>& gradients);
  /// Within a trace: what it is in the next step.
  void follow(Value finite) const;

 private:
  double initial_scale_;
  std::int64_t growth_steps_;
  Variable good_steps_, scale_;
};

}  // namespace etude
