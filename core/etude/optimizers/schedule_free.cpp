#include "etude/optimizers/schedule_free.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude::optimizers {
namespace {

class ScheduleFreeAdamWOptimizer : public Optimizer {
 public:
  explicit ScheduleFreeAdamWOptimizer(const ScheduleFreeAdamWOptions& options)
      : Optimizer(shared_options(options)),
        beta_1_(options.beta_1),
        beta_2_(options.beta_2),
        epsilon_(options.epsilon),
        warmup_steps_(options.warmup_steps) {
    check(beta_1_ > 0 && beta_1_ <= 1, ErrorKind::value, name(), "beta_1 = ", beta_1_,
          " - expected a number above 0 and up to 1 - set beta_1.");
    check_fraction("beta_2", beta_2_);
    check_not_negative("epsilon", epsilon_);
    check_not_negative("warmup_steps", static_cast<double>(warmup_steps_));
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Variable &momentum = slot(0, variable), &velocity = slot(1, variable);
    const Value t = step_number(variable.dtype()), before = graph.read(momentum);
    if (warmup_steps_ > 0)
      learning_rate =
          learning_rate * ops::minimum(t / static_cast<double>(warmup_steps_), ops::scalar(1, learning_rate));
    const Value v = graph.read(velocity) * beta_2_ + ops::square(gradient) * (1 - beta_2_);
    const Value z = before - learning_rate * gradient / (ops::sqrt(v / one_minus_power(beta_2_, t)) + epsilon_);
    // x is not kept: the variable is beta_1 x + (1 - beta_1) z.
    const Value x = (graph.read(variable) - before * (1 - beta_1_)) / beta_1_, share = 1 / t;
    const Value next = x * (1 - share) + z * share;
    graph.assign(velocity, v);
    graph.assign(momentum, z);
    graph.assign(variable, z * (1 - beta_1_) + next * beta_1_);
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable&) const override {
    return {{.name = "momentum", .starts_as_variable = true}, {"velocity"}};
  }

  double beta_1_, beta_2_, epsilon_;
  std::int64_t warmup_steps_;
};

}  // namespace

OptimizerPtr ScheduleFreeAdamW::make(const ScheduleFreeAdamWOptions& options) {
  return std::make_shared<ScheduleFreeAdamWOptimizer>(options);
}

}  // namespace etude::optimizers
