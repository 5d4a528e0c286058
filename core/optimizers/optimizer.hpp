#pragma once

#include <memory>
#include <string>
#include <vector>

#include "etude/base/choice.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// Makes variables smaller in loss. Subclasses state `update_step` for one variable; the plan joins the updates of all
/// of them into one pass over flat memory. Source: keras/src/optimizers/base_optimizer.py.
class Optimizer {
 public:
  /// Throws Error(value) unless the learning rate is finite and not negative.
  Optimizer(std::string name, double learning_rate);
  virtual ~Optimizer() = default;
  const std::string& name() const { return name_; }

  /// Makes the slots for these variables; later calls make those of variables not seen before.
  void build(const std::vector<Variable>& variables);
  /// Within a trace: one step for each variable that has a gradient, and iterations + 1. Throws Error(value) when none
  /// has one, or when there are not as many gradients as variables.
  void apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables);

  /// The next value of `variable`, assigned within the trace. `learning_rate` is a scalar of the variable's dtype.
  virtual void update_step(Value gradient, const Variable& variable, Value learning_rate) = 0;

  double learning_rate() const { return learning_rate_.value().item(); }
  /// Takes effect from the next step on; nothing is traced again.
  void set_learning_rate(double learning_rate);
  std::int64_t iterations() const { return static_cast<std::int64_t>(iterations_.value().item()); }
  /// iterations, learning rate, then the slots, kind by kind.
  std::vector<Variable> variables() const;
  /// The slots of each kind, in the order of the variables they belong to.
  std::vector<std::vector<Variable>> slots() const;

 protected:
  /// What the slots of one kind are called, in the order in which they are made.
  virtual std::vector<std::string> slot_names() const { return {}; }
  /// The slot of the kind with index `kind` that belongs to `variable`.
  const Variable& slot(std::size_t kind, const Variable& variable) const;
  /// iterations + 1, as a scalar of `dtype`: t in the papers.
  Value step_number(DType dtype) const;

 private:
  struct Slots {
    Variable variable;
    std::vector<Variable> slots;
  };
  std::string name_;
  Variable learning_rate_, iterations_;
  std::vector<Slots> slots_;
};
using OptimizerPtr = std::shared_ptr<Optimizer>;

namespace optimizers {

struct SGDOptions {
  double learning_rate = 0.01, momentum = 0;
  bool nesterov = false;
  std::string name = "SGD";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("momentum", self.momentum);
    visit("nesterov", self.nesterov);
    visit("name", self.name);
  }
};
struct RMSpropOptions {
  double learning_rate = 0.001, rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  std::string name = "rmsprop";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("rho", self.rho);
    visit("momentum", self.momentum);
    visit("epsilon", self.epsilon);
    visit("centered", self.centered);
    visit("name", self.name);
  }
};
struct AdamOptions {
  double learning_rate = 0.001, beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  std::string name = "adam";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("beta_1", self.beta_1);
    visit("beta_2", self.beta_2);
    visit("epsilon", self.epsilon);
    visit("amsgrad", self.amsgrad);
    visit("name", self.name);
  }
};

// Each throws Error(value) for a momentum, rho or beta outside [0, 1] and for an epsilon below 0 or not finite.

/// v = momentum v - lr g; w += v, or with Nesterov w += momentum v - lr g (O-1).
OptimizerPtr sgd(SGDOptions options = {});
/// s = rho s + (1 - rho) g²; w -= lr g / sqrt(s + epsilon), epsilon inside the root (O-2).
OptimizerPtr rmsprop(RMSpropOptions options = {});
/// Adam with "epsilon hat" (O-3).
OptimizerPtr adam(AdamOptions options = {});

/// By name or object; throws Error(value) listing the names there are.
OptimizerPtr get(const Choice<Optimizer>& choice);

}  // namespace optimizers
}  // namespace etude
