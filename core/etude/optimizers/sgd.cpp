#include "etude/optimizers/sgd.hpp"

#include "etude/ops/elementwise.hpp"

namespace etude::optimizers {
namespace {

class SGDOptimizer : public Optimizer {
 public:
  explicit SGDOptimizer(const SGDOptions& options)
      : Optimizer(shared_options(options)), momentum_(options.momentum), nesterov_(options.nesterov) {
    check_fraction("momentum", momentum_);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value step = learning_rate * gradient;
    if (momentum_ == 0) return graph.assign(variable, graph.read(variable) - step);
    const Variable& momentum = slot(0, variable);
    const Value velocity = graph.read(momentum) * momentum_ - step;
    graph.assign(momentum, velocity);
    graph.assign(variable, graph.read(variable) + (nesterov_ ? velocity * momentum_ - step : velocity));
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override {
    return momentum_ == 0 ? std::vector<SlotKind>{} : std::vector<SlotKind>{{"momentum"}};
  }
  double momentum_;
  bool nesterov_;
};

class LionOptimizer : public Optimizer {
 public:
  explicit LionOptimizer(const LionOptions& options)
      : Optimizer(shared_options(options)), beta_1_(options.beta_1), beta_2_(options.beta_2) {
    check_fraction("beta_1", beta_1_);
    check(
        beta_1_ > 0, ErrorKind::value, name(),
        "beta_1 = 0 - expected a number above 0, because otherwise only the gradient's sign would count - set beta_1.");
    check_fraction("beta_2", beta_2_);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Variable& momentum = slot(0, variable);
    const Value m = graph.read(momentum);
    const Value direction = ops::sign(m * beta_1_ + gradient * (1 - beta_1_));
    graph.assign(variable, graph.read(variable) - learning_rate * direction);
    graph.assign(momentum, m * beta_2_ + gradient * (1 - beta_2_));
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override { return {{"momentum"}}; }
  double beta_1_, beta_2_;
};

}  // namespace

OptimizerPtr SGD::make(const SGDOptions& options) { return std::make_shared<SGDOptimizer>(options); }
OptimizerPtr Lion::make(const LionOptions& options) { return std::make_shared<LionOptimizer>(options); }

}  // namespace etude::optimizers
