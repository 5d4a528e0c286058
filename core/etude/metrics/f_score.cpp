#include "etude/metrics/f_score.hpp"

#include <cmath>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::metrics {
namespace {

class FScoreMetric : public Metric {
 public:
  explicit FScoreMetric(const FBetaScoreOptions& options) : Metric(options.name), options_(options) {
    direction = Direction::up;
    const std::string average = options_.average.value_or("micro");
    check(average == "micro" || average == "macro" || average == "weighted", ErrorKind::value, name(), "average = \"",
          average, "\" - expected \"micro\", \"macro\", \"weighted\" or none - choose one.");
    check(options_.beta > 0 && std::isfinite(options_.beta), ErrorKind::value, name(), "beta = ", options_.beta,
          " - expected a finite number above 0 - set beta.");
    const double threshold = options_.threshold.value_or(1);
    check(threshold > 0 && threshold <= 1, ErrorKind::value, name(), "threshold = ", threshold,
          " - expected a number above 0 and at most 1 - set threshold.");
  }

  void update_state(Value y_true, Value y_pred, Value sample_weight) override {
    const FloatxScope scope(dtype());
    const Shape shape = y_pred.shape();
    check(shape.rank() == 2 && y_true.shape() == shape, ErrorKind::shape, name(), "y_true of shape ", y_true.shape(),
          " and y_pred of shape ", shape, " - expected [batch, classes] for both - check the targets.");
    const Shape kept = micro() ? Shape{} : Shape{shape[1]};
    if (variables().empty())
      for (const char* of : {"true_positives", "false_positives", "false_negatives", "intermediate_weights"})
        add_variable(of, kept);
    check(variables()[0].shape() == kept, ErrorKind::shape, name(), "y_pred of shape ", shape,
          " - expected as many classes as in earlier batches, ", variables()[0].shape(), " - make another metric.");
    y_true = ops::cast(y_true, floatx());
    y_pred = predicted(ops::cast(y_pred, floatx()));
    if (sample_weight) {
      Shape weights = sample_weight.shape();
      if (weights.rank() == 1) weights.append(1);
      sample_weight = ops::broadcast_to(ops::reshape(ops::cast(sample_weight, floatx()), weights), shape);
    }
    const Value more[] = {y_pred * y_true, y_pred * (1 - y_true), (1 - y_pred) * y_true, y_true};
    Graph& graph = Graph::current();
    for (std::size_t i = 0; i < 4; ++i) {
      const Value weighted = sample_weight ? more[i] * sample_weight : more[i];
      const Value sum = micro() ? ops::sum(weighted) : ops::sum(weighted, {0});
      graph.assign(variables()[i], graph.read(variables()[i]) + sum);
    }
  }

  /// 0 until the first batch sets the number of classes.
  Value result() const override {
    const FloatxScope scope(dtype());
    if (variables().empty()) return ops::full({}, 0);
    Graph& graph = Graph::current();
    const auto read = [&](std::size_t i) { return graph.read(variables()[i]); };
    const Value precision = read(0) / (read(0) + read(1) + epsilon()),
                recall = read(0) / (read(0) + read(2) + epsilon());
    const double square = options_.beta * options_.beta;
    const Value score = precision * recall / (precision * square + recall + epsilon()) * (1 + square);
    if (!options_.average) return score;
    if (*options_.average != "weighted") return ops::mean(score);
    return ops::sum(score * (read(3) / (ops::sum(read(3)) + epsilon())));
  }

  MetricPtr copy() const override { return std::make_shared<FScoreMetric>(options_); }

 private:
  bool micro() const { return options_.average == "micro"; }
  /// 1 for the classes that are predicted. A row of zeros predicts none.
  Value predicted(Value x) const {
    if (options_.threshold) return ops::cast(ops::greater(x, ops::scalar(*options_.threshold, x)), x.dtype());
    const Value is_largest = ops::greater_equal(x, ops::max(x, {-1}, true));
    return ops::cast(ops::logical_and(is_largest, ops::greater(ops::absolute(x), ops::scalar(1e-9, x))), x.dtype());
  }

  FBetaScoreOptions options_;
};

}  // namespace

MetricPtr FBetaScore::make(const FBetaScoreOptions& options) { return std::make_shared<FScoreMetric>(options); }
MetricPtr F1Score::make(const F1ScoreOptions& options) {
  return std::make_shared<FScoreMetric>(
      FBetaScoreOptions{.average = options.average, .beta = 1, .threshold = options.threshold, .name = options.name});
}

}  // namespace etude::metrics
