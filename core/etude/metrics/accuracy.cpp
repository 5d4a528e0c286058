#include "etude/metrics/accuracy.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::metrics {
namespace {

/// 1.0 where a and b are equal, in floatx().
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
        " - expected one-hot targets of equal shape - use \"sparse_categorical_accuracy\" for integer targets.");
  return matches(ops::argmax(ops::cast(y_true, y_pred.dtype())), ops::argmax(y_pred));
}

/// Integer targets as [batch, ..], for predictions [batch, .., classes].
Value labels_of(const char* where, Value y_true, Value y_pred) {
  const Shape expected = y_pred.shape().without(-1);
  if (y_true.shape() != expected && y_true.shape().rank() == expected.rank() + 1 && y_true.shape()[-1] == 1)
    y_true = ops::squeeze(y_true, -1);
  check(y_true.shape() == expected, ErrorKind::shape, where, "y_true of shape ", y_true.shape(),
        " and y_pred of shape ", y_pred.shape(), " - expected integer targets of shape ", expected,
        " - use \"categorical_accuracy\" for one-hot targets.");
  return ops::cast(y_true, DType::int32);
}

Value sparse_values(Value y_true, Value y_pred) {
  return matches(labels_of("SparseCategoricalAccuracy", y_true, y_pred), ops::argmax(y_pred));
}

/// Whether fewer than k scores are larger than the label's. False for a label that is not a class.
Value in_top_k(Value labels, Value y_pred, std::int64_t k) {
  const Value hot = ops::one_hot(labels, y_pred.shape()[-1], floatx()), zero = ops::scalar(0, hot);
  const Value own = ops::sum(ops::where(ops::less(zero, hot), y_pred, ops::scalar(0, y_pred)), {-1}, true);
  const Value larger = ops::sum(ops::cast(ops::less(own, y_pred), floatx()), {-1});
  const Value finite = ops::is_finite(ops::squeeze(own, -1));
  const Value among = ops::less(larger, ops::scalar(static_cast<double>(k), larger));
  return ops::where(finite, ops::cast(among, floatx()), zero) * ops::sum(hot, {-1});
}

/// Whether the label is among the first k ids.
Value in_first_k(Value labels, Value ids, std::int64_t k) {
  const Value first = ops::cast(ops::slice(ids, -1, 0, std::min(k, ids.shape()[-1])), DType::int32);
  return ops::max(ops::cast(ops::equal(first, ops::expand_dims(labels, -1)), floatx()), {-1});
}

void check_k(const std::string& name, std::int64_t k) {
  check(k > 0, ErrorKind::value, name, "k = ", k, " - expected 1 or more - set k.");
}

}  // namespace

MetricPtr Accuracy::make(const MetricOptions& o) {
  return from_function(accuracy_values, o.name_or("accuracy"), Direction::up);
}
MetricPtr BinaryAccuracy::make(const BinaryAccuracyOptions& options) {
  check(options.threshold > 0 && options.threshold < 1, ErrorKind::value, options.name,
        "threshold = ", options.threshold, " - expected a number between 0 and 1 - set threshold.");
  const auto values = [t = options.threshold](Value y_true, Value y_pred) { return binary_values(y_true, y_pred, t); };
  return from_function(values, options.name, Direction::up);
}
MetricPtr CategoricalAccuracy::make(const MetricOptions& o) {
  return from_function(categorical_values, o.name_or("categorical_accuracy"), Direction::up);
}
MetricPtr SparseCategoricalAccuracy::make(const MetricOptions& o) {
  return from_function(sparse_values, o.name_or("sparse_categorical_accuracy"), Direction::up);
}
MetricPtr TopKCategoricalAccuracy::make(const TopKCategoricalAccuracyOptions& options) {
  check_k(options.name, options.k);
  const auto values = [k = options.k](Value y_true, Value y_pred) {
    check(
        y_true.shape() == y_pred.shape(), ErrorKind::shape, "TopKCategoricalAccuracy", "y_true of shape ",
        y_true.shape(), " and y_pred of shape ", y_pred.shape(),
        " - expected one-hot targets of equal shape - use \"sparse_top_k_categorical_accuracy\" for integer targets.");
    return in_top_k(ops::argmax(ops::cast(y_true, y_pred.dtype())), y_pred, k);
  };
  return from_function(values, options.name, Direction::up);
}
MetricPtr SparseTopKCategoricalAccuracy::make(const SparseTopKCategoricalAccuracyOptions& options) {
  check_k(options.name, options.k);
  const auto values = [k = options.k, ids = options.from_sorted_ids](Value y_true, Value y_pred) {
    const Value labels = labels_of("SparseTopKCategoricalAccuracy", y_true, y_pred);
    return ids ? in_first_k(labels, y_pred, k) : in_top_k(labels, y_pred, k);
  };
  return from_function(values, options.name, Direction::up);
}

}  // namespace etude::metrics
