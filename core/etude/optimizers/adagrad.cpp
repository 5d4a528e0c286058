#include "etude/optimizers/adagrad.hpp"

#include <cmath>

#include "etude/ops/elementwise.hpp"

namespace etude::optimizers {
namespace {

class RMSpropOptimizer : public Optimizer {
 public:
  explicit RMSpropOptimizer(const RMSpropOptions& options)
      : Optimizer(shared_options(options)),
        rho_(options.rho),
        momentum_(options.momentum),
        epsilon_(options.epsilon),
        centered_(options.centered) {
    check_fraction("rho", rho_);
    check_fraction("momentum", momentum_);
    check_not_negative("epsilon", epsilon_);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Variable& mean_square = slot(0, variable);
    const Value velocity = graph.read(mean_square) * rho_ + ops::square(gradient) * (1 - rho_);
    graph.assign(mean_square, velocity);
    Value variance = velocity;
    if (centered_) {
      const Variable& mean = slot(momentum_ > 0 ? 2 : 1, variable);
      const Value average = graph.read(mean) * rho_ + gradient * (1 - rho_);
      graph.assign(mean, average);
      variance = variance - ops::square(average);
    }
    Value increment = learning_rate * gradient / ops::sqrt(variance + epsilon_);
    if (momentum_ > 0) {
      const Variable& momentum = slot(1, variable);
      increment = graph.read(momentum) * momentum_ + increment;
      graph.assign(momentum, increment);
    }
    graph.assign(variable, graph.read(variable) - increment);
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override {
    std::vector<SlotKind> kinds{{"velocity"}};
    if (momentum_ > 0) kinds.push_back({"momentum"});
    if (centered_) kinds.push_back({"average_gradient"});
    return kinds;
  }
  double rho_, momentum_, epsilon_;
  bool centered_;
};

class AdagradOptimizer : public Optimizer {
 public:
  explicit AdagradOptimizer(const AdagradOptions& options)
      : Optimizer(shared_options(options)), initial_(options.initial_accumulator_value), epsilon_(options.epsilon) {
    check_not_negative("initial_accumulator_value", initial_);
    check_not_negative("epsilon", epsilon_);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Variable& accumulator = slot(0, variable);
    const Value sum = graph.read(accumulator) + ops::square(gradient);
    graph.assign(accumulator, sum);
    graph.assign(variable, graph.read(variable) - learning_rate * gradient / ops::sqrt(sum + epsilon_));
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override { return {{"accumulator", initial_}}; }
  double initial_, epsilon_;
};

class AdadeltaOptimizer : public Optimizer {
 public:
  explicit AdadeltaOptimizer(const AdadeltaOptions& options)
      : Optimizer(shared_options(options)), rho_(options.rho), epsilon_(options.epsilon) {
    check_fraction("rho", rho_);
    check_not_negative("epsilon", epsilon_);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Variable &gradients = slot(0, variable), &deltas = slot(1, variable);
    const Value squares = graph.read(gradients) * rho_ + ops::square(gradient) * (1 - rho_);
    const Value before = graph.read(deltas);
    const Value delta = ops::sqrt(before + epsilon_) * gradient / ops::sqrt(squares + epsilon_);
    graph.assign(gradients, squares);
    graph.assign(deltas, before * rho_ + ops::square(delta) * (1 - rho_));
    graph.assign(variable, graph.read(variable) - learning_rate * delta);
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override {
    return {{"accumulated_grad"}, {"accumulated_delta_var"}};
  }
  double rho_, epsilon_;
};

class FtrlOptimizer : public Optimizer {
 public:
  explicit FtrlOptimizer(const FtrlOptions& options)
      : Optimizer(shared_options(options)),
        power_(-options.learning_rate_power),
        initial_(options.initial_accumulator_value),
        l1_(options.l1_regularization_strength),
        l2_(options.l2_regularization_strength),
        shrinkage_(options.l2_shrinkage_regularization_strength),
        beta_(options.beta) {
    check(std::isfinite(power_) && power_ >= 0, ErrorKind::value, name(),
          "learning_rate_power = ", options.learning_rate_power,
          " - expected a finite number of 0 or less - set learning_rate_power.");
    check_not_negative("initial_accumulator_value", initial_);
    check_not_negative("l1_regularization_strength", l1_);
    check_not_negative("l2_regularization_strength", l2_);
    check_not_negative("l2_shrinkage_regularization_strength", shrinkage_);
    check_not_negative("beta", beta_);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Variable &accumulator = slot(0, variable), &linear = slot(1, variable);
    const Value n = graph.read(accumulator), w = graph.read(variable);
    const Value next = n + ops::square(gradient), scale = raised(next);
    const Value z = graph.read(linear) + gradient + 2 * shrinkage_ * w - (scale - raised(n)) / learning_rate * w;
    // The quadratic term: scale / lr + 2 l2 + beta / lr.
    const Value curvature = (scale + beta_) / learning_rate + 2 * l2_;
    graph.assign(accumulator, next);
    graph.assign(linear, z);
    graph.assign(variable, (ops::clip(z, -l1_, l1_) - z) / curvature);
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override { return {{"accumulator", initial_}, {"linear"}}; }
  Value raised(Value x) const { return power_ == 0.5 ? ops::sqrt(x) : ops::power(x, ops::scalar(power_, x)); }

  double power_, initial_, l1_, l2_, shrinkage_, beta_;
};

}  // namespace

OptimizerPtr RMSprop::make(const RMSpropOptions& options) { return std::make_shared<RMSpropOptimizer>(options); }
OptimizerPtr Adagrad::make(const AdagradOptions& options) { return std::make_shared<AdagradOptimizer>(options); }
OptimizerPtr Adadelta::make(const AdadeltaOptions& options) { return std::make_shared<AdadeltaOptimizer>(options); }
OptimizerPtr Ftrl::make(const FtrlOptions& options) { return std::make_shared<FtrlOptimizer>(options); }

}  // namespace etude::optimizers
