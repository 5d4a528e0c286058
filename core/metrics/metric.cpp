#include "etude/metrics/metric.hpp"

#include <algorithm>

#include "etude/base/catalogue.hpp"
#include "etude/losses/loss.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

void Metric::reset_state() {
  for (Variable variable : variables_) variable.fill(0);
}

Variable Metric::add_variable(const std::string& name) {
  return variables_.emplace_back(name_ + '/' + name, Tensor({}, floatx()), false);
}

Mean::Mean(std::string name) : Metric(std::move(name)), total_(add_variable("total")), count_(add_variable("count")) {}

// Each sample counts once, however many values it has. Source: reduce_to_samplewise_values in Keras 3.
void Mean::update(Value values, Value weight) {
  Graph& graph = Graph::current();
  const auto mean_from = [](Value x, std::size_t first_axis) {
    std::vector<std::ptrdiff_t> axes;
    for (std::size_t axis = first_axis; axis < x.shape().rank(); ++axis)
      axes.push_back(static_cast<std::ptrdiff_t>(axis));
    return axes.empty() ? x : ops::mean(x, axes);
  };
  values = ops::cast(values, total_.dtype());
  Value count;
  if (weight) {
    values = mean_from(values, weight.shape().rank());
    weight = ops::broadcast_to(ops::cast(weight, values.dtype()), values.shape());
    values = mean_from(values * weight, 1);
    count = ops::sum(mean_from(weight, 1));
  } else {
    values = mean_from(values, 1);
    count = ops::scalar(static_cast<double>(values.shape().size()), values);
  }
  graph.assign(total_, graph.read(total_) + ops::sum(values));
  graph.assign(count_, graph.read(count_) + count);
}

Value Mean::result() const {
  Graph& graph = Graph::current();
  return ops::divide_no_nan(graph.read(total_), graph.read(count_));
}

namespace {

/// The product, where the one with fewer axes holds for all that is behind its own.
Value times_leading(Value a, Value b) {
  const auto widened = [](Value x, std::size_t rank) {
    Shape shape = x.shape();
    while (shape.rank() < rank) shape.append(1);
    return ops::reshape(x, shape);
  };
  const std::size_t rank = std::max(a.shape().rank(), b.shape().rank());
  return widened(a, rank) * widened(b, rank);
}

}  // namespace

void MeanOf::update_state(Value y_true, Value y_pred, Value sample_weight) {
  const Value values = function_(match_rank(y_true, y_pred), y_pred);
  if (sample_weight && sample_weight.shape().rank() == values.shape().rank() + 1 && sample_weight.shape()[-1] == 1)
    sample_weight = ops::squeeze(sample_weight, -1);
  Value mask = y_pred.mask();
  if (mask && mask.shape().rank() <= values.shape().rank()) {
    mask = ops::cast(mask, values.dtype());
    sample_weight = sample_weight ? times_leading(ops::cast(sample_weight, mask.dtype()), mask) : mask;
  }
  update(values, sample_weight);
}

namespace metrics {
namespace {

/// 1.0 where equal, as floats of the predictions' kind.
Value matches(Value a, Value b) { return ops::cast(ops::equal(a, b), floatx()); }

Value accuracy_values(Value y_true, Value y_pred) {
  check(y_true.shape() == y_pred.shape(), ErrorKind::shape, "Accuracy", "y_true of shape ", y_true.shape(),
        " and y_pred of shape ", y_pred.shape(), " - expected equal shapes - check the targets.");
  return matches(ops::cast(y_true, y_pred.dtype()), y_pred);
}

Value binary_values(Value y_true, Value y_pred, double threshold) {
  check(y_true.shape() == y_pred.shape(), ErrorKind::shape, "BinaryAccuracy", "y_true of shape ", y_true.shape(),
        " and y_pred of shape ", y_pred.shape(), " - expected equal shapes - check the targets.");
  const Value positive = ops::cast(ops::greater(y_pred, ops::scalar(threshold, y_pred)), y_pred.dtype());
  return matches(ops::cast(y_true, y_pred.dtype()), positive);
}

Value categorical_values(Value y_true, Value y_pred) {
  check(y_true.shape() == y_pred.shape(), ErrorKind::shape, "CategoricalAccuracy", "y_true of shape ", y_true.shape(),
        " and y_pred of shape ", y_pred.shape(),
        " - expected one-hot targets of equal shape - use sparse_categorical_accuracy for integer targets.");
  return matches(ops::argmax(ops::cast(y_true, y_pred.dtype())), ops::argmax(y_pred));
}

Value sparse_values(Value y_true, Value y_pred) {
  const Shape expected = y_pred.shape().without(-1);
  if (y_true.shape() != expected && y_true.shape().rank() == expected.rank() + 1 && y_true.shape()[-1] == 1)
    y_true = ops::squeeze(y_true, -1);
  check(y_true.shape() == expected, ErrorKind::shape, "SparseCategoricalAccuracy", "y_true of shape ", y_true.shape(),
        " and y_pred of shape ", y_pred.shape(), " - expected integer targets of shape ", expected,
        " - use categorical_accuracy for one-hot targets.");
  return matches(ops::cast(y_true, DType::int32), ops::argmax(y_pred));
}

std::string named(const MetricOptions& options, const char* fallback) {
  return options.name.empty() ? fallback : options.name;
}

MetricPtr loss_metric(const LossPtr& loss, const MetricOptions& options) {
  return std::make_shared<MeanOf>([loss](Value t, Value p) { return loss->call(t, p); },
                                  named(options, loss->name().c_str()), Direction::down);
}

using Maker = MetricPtr (*)(MetricOptions);

const Catalogue<Maker>& catalogue() {
  static const Catalogue<Maker> instance(
      "metric",
      {
          {"accuracy", accuracy},
          {"acc", accuracy},
          {"binary_accuracy", [](MetricOptions o) { return binary_accuracy({named(o, "binary_accuracy"), 0.5}); }},
          {"categorical_accuracy", categorical_accuracy},
          {"sparse_categorical_accuracy", sparse_categorical_accuracy},
          {"mean_squared_error", mean_squared_error},
          {"mse", mean_squared_error},
          {"binary_crossentropy", binary_crossentropy},
          {"categorical_crossentropy", categorical_crossentropy},
          {"sparse_categorical_crossentropy", sparse_categorical_crossentropy},
      });
  return instance;
}

}  // namespace

std::shared_ptr<Mean> mean(MetricOptions options) {
  return described("Mean", options, std::make_shared<Mean>(named(options, "mean")));
}
MetricPtr accuracy(MetricOptions options) {
  return described("Accuracy", options, from_function(accuracy_values, named(options, "accuracy"), Direction::up));
}
MetricPtr binary_accuracy(BinaryAccuracyOptions options) {
  check(options.threshold > 0 && options.threshold < 1, ErrorKind::value, options.name,
        "threshold = ", options.threshold, " - expected a number between 0 and 1 - set threshold.");
  const auto values = [t = options.threshold](Value y_true, Value y_pred) { return binary_values(y_true, y_pred, t); };
  return described("BinaryAccuracy", options, from_function(values, options.name, Direction::up));
}
MetricPtr categorical_accuracy(MetricOptions options) {
  return described("CategoricalAccuracy", options,
                   from_function(categorical_values, named(options, "categorical_accuracy"), Direction::up));
}
MetricPtr sparse_categorical_accuracy(MetricOptions options) {
  return described("SparseCategoricalAccuracy", options,
                   from_function(sparse_values, named(options, "sparse_categorical_accuracy"), Direction::up));
}
MetricPtr mean_squared_error(MetricOptions options) {
  return described("MeanSquaredError", options, loss_metric(losses::mean_squared_error(), options));
}
MetricPtr binary_crossentropy(MetricOptions options) {
  return described("BinaryCrossentropy", options, loss_metric(losses::binary_crossentropy(), options));
}
MetricPtr categorical_crossentropy(MetricOptions options) {
  return described("CategoricalCrossentropy", options, loss_metric(losses::categorical_crossentropy(), options));
}
MetricPtr sparse_categorical_crossentropy(MetricOptions options) {
  return described("SparseCategoricalCrossentropy", options,
                   loss_metric(losses::sparse_categorical_crossentropy(), options));
}
MetricPtr from_function(MeanOf::Function function, std::string name, Direction direction) {
  return std::make_shared<MeanOf>(std::move(function), std::move(name), direction);
}

void check_name(const Choice<Metric>& choice) {
  if (!choice.object()) catalogue().find(choice.name());
}

MetricPtr get(const Choice<Metric>& choice, const Shape& y_true, const Shape& y_pred) {
  if (choice.object()) return choice.object();
  const std::string& name = choice.name();
  if (name != "accuracy" && name != "acc") return catalogue().find(name)({.name = name});
  if (y_pred.rank() == 0 || y_pred[-1] == 1) return binary_accuracy({.name = name});
  if (y_true.rank() < y_pred.rank() || y_true[-1] == 1) return sparse_categorical_accuracy({.name = name});
  return categorical_accuracy({.name = name});
}

}  // namespace metrics
}  // namespace etude
