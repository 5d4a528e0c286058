#include "etude/metrics/detail/confusion_counts.hpp"

#include <cmath>
#include <limits>

#include "etude/base/backend.hpp"
#include "etude/base/error.hpp"
#include "etude/losses/loss.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::metrics {
namespace {

constexpr const char* count_names[] = {"true_positives", "false_positives", "true_negatives", "false_negatives"};

/// The value of predictions that top_k leaves out.
constexpr double lowest = -1e10;
/// float32 has the numbers of all.
constexpr std::int64_t most_thresholds = 1 << 24;
constexpr double infinity = std::numeric_limits<double>::infinity();

Shape flat(const Shape& shape) { return {1, shape.size()}; }

}  // namespace

Thresholds thresholds_of(std::vector<double> each) {
  const std::size_t count = each.size();
  bool even = count >= 3;
  for (std::size_t i = 0; even && i < count; ++i) {
    const double want = static_cast<double>(i) / static_cast<double>(count - 1);
    even = std::abs(each[i] - want) <= epsilon() + 1e-5 * want;
  }
  Thresholds result{.count = static_cast<std::int64_t>(count)};
  if (!even) result.each = std::move(each);
  return result;
}

Value vector_of(const std::vector<double>& numbers) {
  std::vector<Value> parts;
  for (const double number : numbers) parts.push_back(ops::full({1}, number));
  return parts.size() == 1 ? parts.front() : ops::concatenate(parts, 0);
}

Value sums_to_end(Value x) {
  const std::int64_t n = x.shape()[0];
  for (std::int64_t step = 1; step < n; step *= 2)
    x = x + ops::concatenate({ops::slice(x, 0, step, n - step), ops::zeros({step}, x.dtype())}, 0);
  return x;
}

Value largest(Value x, std::int64_t k) {
  const std::int64_t n = x.shape()[-1];
  if (k == n) return ops::ones(x.shape(), x.dtype());
  Value chosen;
  for (std::int64_t i = 0; i < k; ++i) {
    const Value next = ops::one_hot(ops::argmax(x), n, x.dtype());
    x = ops::where(ops::equal(next, ops::scalar(0, next)), x, ops::scalar(-infinity, x));
    chosen = chosen ? ops::maximum(chosen, next) : next;
  }
  return chosen;
}

CountedMetric::CountedMetric(CountSettings settings) : Metric(settings.name), settings_(std::move(settings)) {
  direction = settings_.better;
  const std::int64_t thresholds = settings_.thresholds.count;
  check(thresholds <= most_thresholds, ErrorKind::value, name(), thresholds, " thresholds - expected at most ",
        most_thresholds, " - set num_thresholds.");
  if (!settings_.multi_label) make_variables({thresholds});
}

void CountedMetric::make_variables(const Shape& shape) {
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (settings_.kept[i]) counts_[i] = add_variable(count_names[i], shape);
}

/// The column of class_id, where only that counts.
Value CountedMetric::of_class(Value x) const {
  if (!settings_.class_id) return x;
  const std::int64_t id = *settings_.class_id, classes = x.shape().rank() > 1 ? x.shape()[-1] : 0;
  check(id >= -classes && id < classes, ErrorKind::shape, name(), "predictions of shape ", x.shape(),
        " for class_id = ", id, " - expected [batch, .., classes] with that class - set class_id.");
  return ops::slice(x, -1, id < 0 ? id + classes : id, 1);
}

/// [labels, batch], or [1, all entries].
Value CountedMetric::entries(Value x) const {
  return settings_.multi_label ? ops::transpose(x) : ops::reshape(x, flat(x.shape()));
}

/// Of entries of that shape; an empty Value where all weigh the same.
Value CountedMetric::weights_of(Value sample_weight, const Shape& shape) const {
  Value weights;
  if (sample_weight) {
    Shape own = sample_weight.shape();
    if (own.rank() == shape.rank() + 1 && own[-1] == 1) own = own.without(-1);
    while (own.rank() < shape.rank()) own.append(1);
    weights = ops::broadcast_to(ops::reshape(ops::cast(sample_weight, floatx()), own), shape);
  }
  const auto labels = static_cast<std::int64_t>(settings_.label_weights.size());
  if (labels == 0 || settings_.multi_label) return weights;
  check(shape.rank() > 0 && shape[-1] == labels, ErrorKind::shape, name(), "predictions of shape ", shape, " for ",
        labels, " label_weights - expected a weight for each label of the last axis - set label_weights.");
  const Value of_labels = ops::broadcast_to(vector_of(settings_.label_weights), shape);
  return weights ? weights * of_labels : of_labels;
}

/// The sum of the weights of those entries, x [labels, entries], that are above each threshold.
Value CountedMetric::positives(Value x, Value weights) const {
  const auto& [count, each, begins_below_0] = settings_.thresholds;
  if (each.empty()) {
    x = ops::clip(x, 0, 1) * static_cast<double>(count - 1);
    if (begins_below_0) x = ops::maximum(x, ops::scalar(0.5, x));
  }
  if (each.empty() && !settings_.multi_label) {
    // Each entry is added once, to the last threshold that it is above: the one before its ceiling.
    const Value last = ops::cast(-ops::floor(-x) - 1.0, DType::int32);
    const Shape all{x.shape()[1]};
    return sums_to_end(ops::scatter_add(ops::reshape(weights, all), ops::reshape(last, all), count));
  }
  const Value levels =
      each.empty() ? static_cast<double>(count) - sums_to_end(ops::ones({count}, x.dtype())) : vector_of(each);
  const Value above = ops::greater(ops::expand_dims(x, 0), ops::reshape(levels, {count, 1, 1}));
  const Value sums = ops::sum(ops::where(above, ops::expand_dims(weights, 0), ops::scalar(0, weights)), {-1});
  return settings_.multi_label ? sums : ops::reshape(sums, {count});
}

void CountedMetric::update_state(Value y_true, Value y_pred, Value sample_weight) {
  const FloatxScope scope(dtype());
  y_true = ops::cast(match_rank(y_true, y_pred), floatx());
  y_pred = ops::cast(y_pred, floatx());
  const Shape whole = y_pred.shape();
  check(y_true.shape() == whole, ErrorKind::shape, name(), "y_true of shape ", y_true.shape(), " and y_pred of shape ",
        whole, " - expected equal shapes - check the targets.");
  if (settings_.from_logits) y_pred = ops::sigmoid(y_pred);
  if (settings_.top_k) {
    check(whole.rank() > 0 && *settings_.top_k <= whole[-1], ErrorKind::shape, name(), "predictions of shape ", whole,
          " for top_k = ", *settings_.top_k, " - expected as many in each row - set top_k.");
    const Value chosen = largest(y_pred, *settings_.top_k);
    y_pred = y_pred * chosen + (1 - chosen) * lowest;
  }
  y_true = of_class(y_true);
  y_pred = of_class(y_pred);
  const Shape shape = y_pred.shape();
  if (settings_.multi_label) {
    check(shape.rank() == 2, ErrorKind::shape, name(), "predictions of shape ", shape,
          " with multi_label - expected [batch, labels] - reshape the model's output.");
    const Shape kept{settings_.thresholds.count, shape[1]};
    const std::int64_t labels =
        variables().empty() ? settings_.num_labels.value_or(shape[1]) : variables().front().shape()[1];
    check(shape[1] == labels, ErrorKind::shape, name(), "predictions of shape ", shape, " - expected ", labels,
          " labels, as in num_labels and in earlier batches - set num_labels, or make another metric.");
    if (variables().empty()) make_variables(kept);
  }

  const Value truth = ops::cast(ops::logical_not(ops::equal(y_true, ops::scalar(0, y_true))), floatx());
  Value weights[] = {truth, 1 - truth};
  if (const Value weight = weights_of(sample_weight, shape))
    for (Value& of_truth : weights) of_truth = of_truth * weight;
  const Value x = entries(y_pred);
  Graph& graph = Graph::current();
  const auto add = [&](std::size_t count, Value more) {
    if (settings_.kept[count]) graph.assign(counts_[count], graph.read(counts_[count]) + more);
  };
  for (const std::size_t is_false : {0u, 1u}) {
    const std::size_t negative = is_false ? 2 : 3;
    if (!settings_.kept[is_false] && !settings_.kept[negative]) continue;
    const Value each = entries(weights[is_false]);
    const Value above = positives(x, each);
    add(is_false, above);
    if (settings_.kept[negative]) add(negative, ops::reshape(ops::sum(each, {1}), {each.shape()[0]}) - above);
  }
}

Value CountedMetric::result() const {
  const FloatxScope scope(dtype());
  Graph& graph = Graph::current();
  if (variables().empty()) return ops::full({}, 0);
  Value read[4];
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (settings_.kept[i]) read[i] = graph.read(counts_[i]);
  return settings_.figure({read[0], read[1], read[2], read[3]});
}

}  // namespace etude::metrics
