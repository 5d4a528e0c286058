#include "etude/optimizers/adafactor.hpp"

#include <cmath>

#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::optimizers {
namespace {

Value root_mean_square(Value x) { return ops::sqrt(ops::mean(ops::square(x))); }

class AdafactorOptimizer : public Optimizer {
 public:
  explicit AdafactorOptimizer(const AdafactorOptions& options)
      : Optimizer(shared_options(options)),
        decay_(options.beta_2_decay),
        epsilon_1_(options.epsilon_1),
        epsilon_2_(options.epsilon_2),
        threshold_(options.clip_threshold) {
    check_not_negative("epsilon_1", epsilon_1_);
    check_not_negative("epsilon_2", epsilon_2_);
    check(std::isfinite(threshold_) && threshold_ > 0, ErrorKind::value, name(), "clip_threshold = ", threshold_,
          " - expected a finite number above 0 - set clip_threshold.");
    check(std::isfinite(decay_) && decay_ <= 0, ErrorKind::value, name(), "beta_2_decay = ", decay_,
          " - expected a finite number of 0 or less - set beta_2_decay.");
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value value = graph.read(variable), t = step_number(variable.dtype());
    const Value rate = ops::minimum(learning_rate, 1 / ops::sqrt(t));
    const Value length = ops::maximum(ops::scalar(epsilon_2_, value), root_mean_square(value)) * rate;
    const Value share = ops::power(t, ops::scalar(decay_, t));  // of this step in the averages
    const Value step = gradient / ops::sqrt(mean_squares(ops::square(gradient) + epsilon_1_, share, variable));
    const Value excess = ops::maximum(root_mean_square(step) / threshold_, ops::scalar(1, step));
    graph.assign(variable, value - length * step / excess);
  }

 private:
  std::vector<SlotKind> slot_kinds(const Variable& variable) const override {
    const Shape& shape = variable.shape();
    if (shape.rank() < 2) return {{"velocity"}};
    return {{.name = "rows", .shape = shape.without(-1)}, {.name = "columns", .shape = shape.without(-2)}};
  }

  /// The averages of squares: for a matrix, the product of the averages over columns and over rows, divided by the
  /// average over both.
  Value mean_squares(Value squares, Value share, const Variable& variable) const {
    if (variable.shape().rank() < 2) return averaged(slot(0, variable), squares, share);
    const Value rows = averaged(slot(0, variable), ops::mean(squares, {-1}), share);
    const Value columns = averaged(slot(1, variable), ops::mean(squares, {-2}), share);
    return ops::expand_dims(rows / ops::mean(rows, {-1}, true), -1) * ops::expand_dims(columns, -2);
  }
  static Value averaged(const Variable& average, Value x, Value share) {
    Graph& graph = Graph::current();
    const Value next = graph.read(average) * (1 - share) + x * share;
    graph.assign(average, next);
    return next;
  }

  double decay_, epsilon_1_, epsilon_2_, threshold_;
};

}  // namespace

OptimizerPtr Adafactor::make(const AdafactorOptions& options) { return std::make_shared<AdafactorOptimizer>(options); }

}  // namespace etude::optimizers
