#include "etude/metrics/mean.hpp"

#include "etude/base/error.hpp"
#include "etude/losses/loss.hpp"
#include "etude/metrics/detail/confusion_counts.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::metrics {
namespace {

/// The weights of values of this shape, or ones.
Value weights_of(Value sample_weight, const Shape& shape) {
  if (!sample_weight) return ops::full(shape, 1);
  Shape leading = sample_weight.shape();
  while (leading.rank() < shape.rank()) leading.append(1);
  return ops::broadcast_to(ops::reshape(ops::cast(sample_weight, floatx()), leading), shape);
}

/// A quotient of two sums of values that batches add to.
class QuotientOfSums : public Metric {
 public:
  using Metric::Metric;
  /// 0 until the first batch sets the shape.
  Value result() const override {
    const FloatxScope scope(dtype());
    if (!total_) return ops::full({}, 0);
    Graph& graph = Graph::current();
    return ops::divide_no_nan(graph.read(total_), graph.read(count_));
  }

 protected:
  void make_variables(const Shape& shape) {
    total_ = add_variable("total", shape);
    count_ = add_variable("count", shape);
  }
  void add(Value total, Value count) {
    Graph& graph = Graph::current();
    graph.assign(total_, graph.read(total_) + total);
    graph.assign(count_, graph.read(count_) + count);
  }

  Variable total_, count_;
};

class MeanTensorMetric : public QuotientOfSums {
 public:
  explicit MeanTensorMetric(const MeanTensorOptions& options) : QuotientOfSums(options.name), options_(options) {}
  void update_state(Value, Value values, Value sample_weight) override {
    const FloatxScope scope(dtype());
    const Shape shape = values.shape(), known = total_ ? total_.shape() : options_.shape.value_or(shape);
    check(shape == known, ErrorKind::shape, name(), "values of shape ", shape, " - expected ", known,
          ", as in the option shape or in earlier batches - make another metric.");
    if (!total_) make_variables(shape);
    const Value weights = weights_of(masked_weight(values, sample_weight), shape);
    add(ops::cast(values, floatx()) * weights, weights);
  }
  MetricPtr copy() const override { return std::make_shared<MeanTensorMetric>(options_); }

 private:
  MeanTensorOptions options_;
};

class SumOverBatchSizeMetric : public QuotientOfSums {
 public:
  explicit SumOverBatchSizeMetric(std::string name) : QuotientOfSums(std::move(name)) { make_variables({}); }
  void update_state(Value, Value values, Value sample_weight) override {
    const FloatxScope scope(dtype());
    const Shape shape = values.shape();
    const Value weights = weights_of(masked_weight(values, sample_weight), shape);
    add(ops::sum(ops::cast(values, floatx()) * weights), ops::full({}, static_cast<double>(shape.size())));
  }
  MetricPtr copy() const override { return std::make_shared<SumOverBatchSizeMetric>(name()); }
};

}  // namespace

MetricPtr MeanTensor::make(const MeanTensorOptions& options) { return std::make_shared<MeanTensorMetric>(options); }

MetricPtr MeanRelativeError::make(const MeanRelativeErrorOptions& options) {
  check(!options.normalizer.empty(), ErrorKind::value, options.name,
        "no normalizer - expected a number, or one for each output - set normalizer.");
  const auto errors = [normalizer = options.normalizer.all(), name = options.name](Value y_true, Value y_pred) {
    check(y_true.shape() == y_pred.shape(), ErrorKind::shape, name, "y_true of shape ", y_true.shape(),
          " and y_pred of shape ", y_pred.shape(), " - expected equal shapes - check the targets.");
    const auto numbers = static_cast<std::int64_t>(normalizer.size());
    check(numbers == 1 || (y_pred.shape().rank() > 0 && y_pred.shape()[-1] == numbers), ErrorKind::shape, name,
          "a normalizer of ", numbers, " numbers for y_pred of shape ", y_pred.shape(),
          " - expected one number, or one for each output - set normalizer.");
    const Value distance = ops::absolute(ops::cast(y_true, y_pred.dtype()) - y_pred);
    return ops::divide_no_nan(distance,
                              ops::broadcast_to(ops::cast(vector_of(normalizer), y_pred.dtype()), y_pred.shape()));
  };
  return from_function(errors, options.name, Direction::down);
}

MetricPtr SumOverBatchSize::make(const SumOverBatchSizeOptions& options) {
  return std::make_shared<SumOverBatchSizeMetric>(options.name);
}

}  // namespace etude::metrics
