#include "etude/metrics/iou.hpp"

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::metrics {
namespace {

/// The number of an entry in the confusion matrix is an int32.
constexpr std::int64_t most_classes = 46340;

/// Their inputs; with a threshold, predictions are probabilities of class 1.
struct Settings {
  IoUOptions options;
  std::optional<double> threshold = {};
};

/// x with `axis` behind all others.
Value with_axis_last(Value x, std::ptrdiff_t axis, const std::string& where) {
  const std::size_t rank = x.shape().rank(), moved = x.shape().axis(axis, where);
  std::vector<std::uint8_t> order;
  for (std::size_t i = 0; i < rank; ++i)
    if (i != moved) order.push_back(static_cast<std::uint8_t>(i));
  order.push_back(static_cast<std::uint8_t>(moved));
  return moved + 1 == rank ? x : ops::transpose(x, order);
}

/// A confusion matrix [target, prediction], to which batches add.
class ConfusionMatrixMetric : public Metric {
 public:
  explicit ConfusionMatrixMetric(Settings settings)
      : Metric(settings.options.name), settings_(std::move(settings)), classes_(settings_.options.num_classes) {
    direction = Direction::up;
    check(classes_ > 0 && classes_ <= most_classes, ErrorKind::value, name(), "num_classes = ", classes_,
          " - expected 1 to ", most_classes, " - set num_classes.");
    for (const std::int64_t id : settings_.options.target_class_ids.all())
      check(id >= 0 && id < classes_, ErrorKind::value, name(), "target_class_ids with ", id, " of ", classes_,
            " classes - expected numbers from 0 to ", classes_ - 1, " - set target_class_ids.");
    matrix_ = add_variable("total_confusion_matrix", {classes_, classes_});
  }

  void update_state(Value y_true, Value y_pred, Value sample_weight) override {
    const FloatxScope scope(dtype());
    const IoUOptions& options = settings_.options;
    if (settings_.threshold)
      y_pred = ops::greater_equal(ops::cast(y_pred, floatx()), ops::full({}, *settings_.threshold));
    const Value target = classes_of(y_true, options.sparse_y_true);
    const Value prediction = classes_of(y_pred, options.sparse_y_pred);
    check(target.shape() == prediction.shape(), ErrorKind::shape, name(), "y_true of shape ", y_true.shape(),
          " and y_pred of shape ", y_pred.shape(), " - expected as many targets as predictions - check the targets.");
    Value counts = ops::logical_and(in_range(target), in_range(prediction));
    if (options.ignore_class)
      counts = ops::logical_and(counts, ops::logical_not(ops::equal(
                                            target, ops::scalar(static_cast<double>(*options.ignore_class), target))));
    const Value place = target * static_cast<double>(classes_) + prediction;
    const Value added = ops::scatter_add(weights_of(sample_weight, target.shape()[0]),
                                         ops::where(counts, place, ops::scalar(-1, place)), classes_ * classes_);
    Graph& graph = Graph::current();
    graph.assign(matrix_, graph.read(matrix_) + ops::reshape(added, matrix_.shape()));
  }

  Value result() const override {
    const Value matrix = Graph::current().read(matrix_);
    // The diagonal is the first column, where rows are one entry longer.
    const Value longer = ops::concatenate({ops::reshape(matrix, {-1}), ops::zeros({classes_}, matrix.dtype())}, 0);
    Value both = ops::reshape(ops::slice(ops::reshape(longer, {classes_, classes_ + 1}), -1, 0, 1), {classes_});
    Value either = ops::sum(matrix, {0}) + ops::sum(matrix, {1}) - both;
    both = chosen(both);
    either = chosen(either);
    const Value valid = ops::greater(either, ops::scalar(1e-9, either));
    const Value shares = ops::where(valid, both / (either + epsilon()), ops::scalar(0, both));
    return ops::sum(shares) / (ops::sum(ops::cast(valid, shares.dtype())) + epsilon());
  }

  MetricPtr copy() const override { return std::make_shared<ConfusionMatrixMetric>(settings_); }

 private:
  /// The class of each entry, [entries].
  Value classes_of(Value x, bool sparse) const {
    if (!sparse) x = ops::argmax(with_axis_last(ops::cast(x, floatx()), settings_.options.axis, name()));
    return ops::reshape(ops::cast(x, DType::int32), {x.shape().size()});
  }
  Value in_range(Value x) const {
    return ops::logical_and(ops::greater_equal(x, ops::scalar(0, x)),
                            ops::less(x, ops::scalar(static_cast<double>(classes_), x)));
  }
  Value weights_of(Value sample_weight, std::int64_t entries) const {
    if (!sample_weight) return ops::ones({entries});
    const std::int64_t weights = sample_weight.shape().size();
    check(weights > 0 ? entries % weights == 0 : entries == 0, ErrorKind::shape, name(), "sample_weight of shape ",
          sample_weight.shape(), " for ", entries, " entries - expected one for each, or for each row - check it.");
    const Shape rows{weights, weights > 0 ? entries / weights : 0};
    const Value weight = ops::reshape(ops::cast(sample_weight, floatx()), {weights, 1});
    return ops::reshape(ops::broadcast_to(weight, rows), {entries});
  }
  /// Those of the target classes alone.
  Value chosen(Value of_classes) const {
    std::vector<Value> parts;
    for (const std::int64_t id : settings_.options.target_class_ids.all())
      parts.push_back(ops::slice(of_classes, 0, id, 1));
    return parts.empty() ? of_classes : ops::concatenate(parts, 0);
  }

  Settings settings_;
  std::int64_t classes_;
  Variable matrix_;
};

MetricPtr of_targets(Settings settings) {
  const IoUOptions& options = settings.options;
  check(!options.target_class_ids.empty(), ErrorKind::value, options.name,
        "no target_class_ids - expected one or more - set target_class_ids.");
  return std::make_shared<ConfusionMatrixMetric>(std::move(settings));
}

}  // namespace

MetricPtr IoU::make(const IoUOptions& options) { return of_targets({options}); }
MetricPtr BinaryIoU::make(const BinaryIoUOptions& options) {
  return of_targets(
      {{.num_classes = 2, .target_class_ids = options.target_class_ids, .name = options.name}, options.threshold});
}
MetricPtr OneHotIoU::make(const OneHotIoUOptions& o) {
  return of_targets({{o.num_classes, o.target_class_ids, o.name, {}, o.ignore_class, false, o.sparse_y_pred, o.axis}});
}
MetricPtr MeanIoU::make(const MeanIoUOptions& o) {
  return std::make_shared<ConfusionMatrixMetric>(
      Settings{{o.num_classes, {}, o.name, {}, o.ignore_class, o.sparse_y_true, o.sparse_y_pred, o.axis}});
}
MetricPtr OneHotMeanIoU::make(const OneHotMeanIoUOptions& o) {
  return std::make_shared<ConfusionMatrixMetric>(
      Settings{{o.num_classes, {}, o.name, {}, o.ignore_class, false, o.sparse_y_pred, o.axis}});
}

}  // namespace etude::metrics
