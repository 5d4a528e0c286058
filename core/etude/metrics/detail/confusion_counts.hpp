#pragma once

/// Private to core/metrics: positives and negatives at thresholds, from which many figures are made.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/metrics/metric.hpp"

namespace etude::metrics {

/// The thresholds above which predictions are positive.
struct Thresholds {
  std::int64_t count = 0;
  /// Each; none of `count` thresholds at equal distances from 0 to 1, for which time does not depend on their number.
  std::vector<double> each = {};
  /// Whether the first of those at equal distances is just below 0, so that a prediction of 0 is above it.
  bool begins_below_0 = false;
};
/// Thresholds that a caller gave: at equal distances, if they are, up to rounding.
Thresholds thresholds_of(std::vector<double> each);

/// The entries at each threshold, [thresholds] or [thresholds, labels]. Those that a figure does not ask for are empty.
struct Counts {
  Value true_positives, false_positives, true_negatives, false_negatives;
};

/// The settings of a metric of counts.
struct CountSettings {
  std::string name;
  Thresholds thresholds = {};
  std::optional<std::int64_t> top_k = {}, class_id = {};
  bool multi_label = false;
  std::optional<std::int64_t> num_labels = {};
  /// Along the last axis of the predictions.
  std::vector<double> label_weights = {};
  bool from_logits = false;
  Direction better = Direction::up;
  /// Which counts are kept, in the order of Counts.
  std::array<bool, 4> kept{};
  /// The figure at all thresholds.
  std::function<Value(const Counts&)> figure = {};
};

/// A figure made of counts that batches add to.
class CountedMetric : public Metric {
 public:
  explicit CountedMetric(CountSettings settings);
  void update_state(Value y_true, Value y_pred, Value sample_weight = {}) override;
  /// 0 until the first batch sets the number of labels.
  Value result() const override;
  MetricPtr copy() const override { return std::make_shared<CountedMetric>(settings_); }

 private:
  void make_variables(const Shape& shape);
  Value of_class(Value x) const;
  Value entries(Value x) const;
  Value weights_of(Value sample_weight, const Shape& shape) const;
  Value positives(Value x, Value weights) const;

  CountSettings settings_;
  std::array<Variable, 4> counts_;
};

/// A vector of these numbers.
Value vector_of(const std::vector<double>& numbers);
/// x [n] -> [n]: the sum of entries i … n - 1 of x.
Value sums_to_end(Value x);
/// 1 for the k largest of each row [.., n], else 0; of equal ones for those before.
Value largest(Value x, std::int64_t k);

}  // namespace etude::metrics
