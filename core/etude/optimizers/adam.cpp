#include "etude/optimizers/adam.hpp"

#include <cmath>

#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"

namespace etude::optimizers {
namespace {

/// The slots of Adam and its variants: averages of the gradients and of their squares.
class Moments : public Optimizer {
 protected:
  template <class Options>
  explicit Moments(const Options& options)
      : Optimizer(shared_options(options)),
        beta_1_(options.beta_1),
        beta_2_(options.beta_2),
        epsilon_(options.epsilon) {
    check_fraction("beta_1", beta_1_);
    check_fraction("beta_2", beta_2_);
    check_not_negative("epsilon", epsilon_);
  }

  std::vector<SlotKind> slot_kinds(const Variable&) const override { return {{"momentum"}, {"velocity"}}; }

  /// Assigns and returns the average with this gradient.
  Value momentum(Value gradient, const Variable& variable) const { return averaged(0, beta_1_, gradient, variable); }
  Value velocity(Value gradient, const Variable& variable) const {
    return averaged(1, beta_2_, ops::square(gradient), variable);
  }

  double beta_1_, beta_2_, epsilon_;

 private:
  Value averaged(std::size_t kind, double beta, Value x, const Variable& variable) const {
    Graph& graph = Graph::current();
    const Variable& average = slot(kind, variable);
    const Value next = graph.read(average) * beta + x * (1 - beta);
    graph.assign(average, next);
    return next;
  }
};

/// Also AdamW, which has a larger weight decay by default.
class AdamOptimizer : public Moments {
 public:
  template <class Options> explicit AdamOptimizer(const Options& options)
      : Moments(options), amsgrad_(options.amsgrad) {}

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value t = step_number(variable.dtype());
    const Value alpha = learning_rate * ops::sqrt(one_minus_power(beta_2_, t)) / one_minus_power(beta_1_, t);
    const Value m = momentum(gradient, variable);
    Value v = velocity(gradient, variable);
    if (amsgrad_) {
      const Variable& largest = slot(2, variable);
      v = ops::maximum(graph.read(largest), v);
      graph.assign(largest, v);
    }
    graph.assign(variable, graph.read(variable) - alpha * m / (ops::sqrt(v) + epsilon_));
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable& variable) const override {
    auto kinds = Moments::slot_kinds(variable);
    if (amsgrad_) kinds.push_back({"velocity_hat"});
    return kinds;
  }
  bool amsgrad_;
};

class AdamaxOptimizer : public Moments {
 public:
  explicit AdamaxOptimizer(const AdamaxOptions& options) : Moments(options) {}

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value alpha = learning_rate / one_minus_power(beta_1_, step_number(variable.dtype()));
    const Value m = momentum(gradient, variable);
    const Variable& norm = slot(1, variable);
    const Value u = ops::maximum(graph.read(norm) * beta_2_, ops::absolute(gradient));
    graph.assign(norm, u);
    graph.assign(variable, graph.read(variable) - alpha * m / (u + epsilon_));
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override { return {{"momentum"}, {"norm"}}; }
};

class NadamOptimizer : public Moments {
 public:
  explicit NadamOptimizer(const NadamOptions& options)
      : Moments(options), product_(name() + "/u_product", Tensor({}, floatx()), false) {
    product_.fill(1);
  }

  void begin_step() override {
    Graph& graph = Graph::current();
    graph.assign(product_, graph.read(product_) * scheduled(step_number(product_.dtype())));
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value t = step_number(variable.dtype()), next = scheduled(t + 1);
    const Value product = ops::cast(graph.read(product_), variable.dtype());
    const Value m = momentum(gradient, variable), v = velocity(gradient, variable);
    const Value ahead = next / (1 - product * next) * m + (1 - scheduled(t)) / (1 - product) * gradient;
    const Value root = ops::sqrt(v / one_minus_power(beta_2_, t));
    graph.assign(variable, graph.read(variable) - learning_rate * ahead / (root + epsilon_));
  }

 private:
  /// beta_1, which grows with the steps.
  Value scheduled(Value t) const { return beta_1_ * (1 - 0.5 * ops::exp(t * std::log(0.96))); }
  std::vector<Variable> common_variables() const override { return {product_}; }

  Variable product_;  ///< of beta_1 over all steps so far
};

class LambOptimizer : public Moments {
 public:
  explicit LambOptimizer(const LambOptions& options) : Moments(options) {}

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value t = step_number(variable.dtype());
    const Value m = momentum(gradient, variable) / one_minus_power(beta_1_, t);
    const Value v = velocity(gradient, variable) / one_minus_power(beta_2_, t);
    const Value value = graph.read(variable), step = m / (ops::sqrt(v) + epsilon_);
    const auto norm = [](Value x) { return ops::sqrt(ops::sum(ops::square(x))); };
    const Value wanted = norm(value), length = norm(step), zero = ops::scalar(0, length);
    const Value any = ops::logical_and(ops::less(zero, wanted), ops::less(zero, length));
    const Value ratio = ops::where(any, wanted / length, ops::scalar(1, length));
    graph.assign(variable, value - learning_rate * ratio * step);
  }
};

}  // namespace

OptimizerPtr Adam::make(const AdamOptions& options) { return std::make_shared<AdamOptimizer>(options); }
OptimizerPtr AdamW::make(const AdamWOptions& options) { return std::make_shared<AdamOptimizer>(options); }
OptimizerPtr Adamax::make(const AdamaxOptions& options) { return std::make_shared<AdamaxOptimizer>(options); }
OptimizerPtr Nadam::make(const NadamOptions& options) { return std::make_shared<NadamOptimizer>(options); }
OptimizerPtr Lamb::make(const LambOptions& options) { return std::make_shared<LambOptimizer>(options); }

}  // namespace etude::optimizers
