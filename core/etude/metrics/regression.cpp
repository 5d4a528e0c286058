#include "etude/metrics/regression.hpp"

#include <limits>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/losses/loss.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::metrics {
namespace {

class R2ScoreMetric : public Metric {
 public:
  explicit R2ScoreMetric(const R2ScoreOptions& options)
      : Metric(options.name), options_(options), samples_(add_variable("num_samples")) {
    direction = Direction::up;
    const std::string aggregation = options_.class_aggregation.value_or("uniform_average");
    check(aggregation == "uniform_average" || aggregation == "variance_weighted_average", ErrorKind::value, name(),
          "class_aggregation = \"", aggregation,
          "\" - expected \"uniform_average\", \"variance_weighted_average\" or none - choose one.");
    check(options_.num_regressors >= 0, ErrorKind::value, name(), "num_regressors = ", options_.num_regressors,
          " - expected 0 or more - set num_regressors.");
  }

  void update_state(Value y_true, Value y_pred, Value sample_weight) override {
    const FloatxScope scope(dtype());
    y_true = ops::cast(match_rank(y_true, y_pred), floatx());
    y_pred = ops::cast(y_pred, floatx());
    const Shape shape = y_pred.shape();
    check(shape.rank() == 2 && y_true.shape() == shape, ErrorKind::shape, name(), "y_true of shape ", y_true.shape(),
          " and y_pred of shape ", shape, " - expected [batch, outputs] for both - check the targets.");
    if (!sum_) {
      squared_sum_ = add_variable("squared_sum", {shape[1]});
      sum_ = add_variable("sum", {shape[1]});
      residual_ = add_variable("residual", {shape[1]});
      count_ = add_variable("count", {shape[1]});
    }
    check(sum_.shape()[0] == shape[1], ErrorKind::shape, name(), "y_pred of shape ", shape, " - expected ",
          sum_.shape()[0], " outputs, as in earlier batches - make another metric.");
    Value weight = ops::full({1}, 1);
    if (sample_weight) {
      Shape weights = sample_weight.shape();
      if (weights.rank() == 1) weights.append(1);
      weight = ops::reshape(ops::cast(sample_weight, floatx()), weights);
    }
    weight = ops::broadcast_to(weight, shape);
    add(sum_, ops::sum(y_true * weight, {0}));
    add(squared_sum_, ops::sum(y_true * (y_true * weight), {0}));
    add(residual_, ops::sum(ops::square(y_true - y_pred) * weight, {0}));
    add(count_, ops::sum(weight, {0}));
    add(samples_, ops::full({}, static_cast<double>(shape[0])));
  }

  /// 0 until the first batch sets the number of outputs.
  Value result() const override {
    const FloatxScope scope(dtype());
    if (!sum_) return ops::full({}, 0);
    Graph& graph = Graph::current();
    const Value sum = graph.read(sum_), count = graph.read(count_), none = ops::equal(count, ops::scalar(0, count));
    const Value total = graph.read(squared_sum_) - sum * ops::divide_no_nan(sum, count);
    Value score = 1 - graph.read(residual_) / total;
    const Value infinity = ops::scalar(std::numeric_limits<double>::infinity(), score);
    const Value unknown = ops::logical_or(none, ops::equal(ops::absolute(score), infinity));
    score = ops::where(unknown, ops::scalar(0, score), score);
    if (options_.class_aggregation == "uniform_average") score = ops::mean(score);
    if (options_.class_aggregation == "variance_weighted_average")
      score = ops::divide_no_nan(ops::sum(total * score), ops::sum(total));
    if (options_.num_regressors == 0) return score;
    const Value rest = graph.read(samples_) - 1.0 - static_cast<double>(options_.num_regressors);
    const Value adjusted = 1 - (1 - score) * (graph.read(samples_) - 1.0) / rest;
    return ops::where(ops::greater(rest, ops::scalar(0, rest)), adjusted, score);
  }

  MetricPtr copy() const override { return std::make_shared<R2ScoreMetric>(options_); }

 private:
  static void add(const Variable& variable, Value more) {
    Graph& graph = Graph::current();
    graph.assign(variable, graph.read(variable) + more);
  }

  R2ScoreOptions options_;
  Variable samples_, squared_sum_, sum_, residual_, count_;
};

Value centred(Value x, std::ptrdiff_t axis) { return x - ops::mean(x, {axis}, true); }
Value variance(Value x, std::ptrdiff_t axis) { return ops::mean(ops::square(centred(x, axis)), {axis}, true); }

MetricPtr correlation(Value (*of)(Value, Value, std::ptrdiff_t), const std::string& name, std::ptrdiff_t axis) {
  const auto values = [=](Value y_true, Value y_pred) {
    check(y_true.shape() == y_pred.shape(), ErrorKind::shape, name, "y_true of shape ", y_true.shape(),
          " and y_pred of shape ", y_pred.shape(), " - expected equal shapes - check the targets.");
    return of(ops::cast(y_true, y_pred.dtype()), y_pred, axis);
  };
  return from_function(values, name, Direction::up);
}

Value pearson(Value y_true, Value y_pred, std::ptrdiff_t axis) {
  const auto standard = [axis](Value x) { return centred(x, axis) / ops::sqrt(variance(x, axis)); };
  return ops::mean(standard(y_true) * standard(y_pred), {axis});
}

/// y_true less the mean of y_pred, and not its own: as in Keras.
Value concordance(Value y_true, Value y_pred, std::ptrdiff_t axis) {
  const Value mean_true = ops::mean(y_true, {axis}, true), mean_pred = ops::mean(y_pred, {axis}, true);
  const Value norm = variance(y_true, axis) + variance(y_pred, axis) + ops::square(mean_true - mean_pred);
  return ops::mean(2 * ((y_true - mean_pred) * (y_pred - mean_pred)) / (norm + epsilon()), {axis});
}

}  // namespace

MetricPtr R2Score::make(const R2ScoreOptions& options) { return std::make_shared<R2ScoreMetric>(options); }
MetricPtr PearsonCorrelation::make(const PearsonCorrelationOptions& options) {
  return correlation(pearson, options.name, options.axis);
}
MetricPtr ConcordanceCorrelation::make(const ConcordanceCorrelationOptions& options) {
  return correlation(concordance, options.name, options.axis);
}

}  // namespace etude::metrics
