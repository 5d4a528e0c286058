#include "etude/metrics/confusion.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/backend.hpp"
#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/metrics/detail/confusion_counts.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::metrics {
namespace {

Value share_of(Value part, Value rest) { return ops::divide_no_nan(part, part + rest); }
Value recall_of(const Counts& counts) { return share_of(counts.true_positives, counts.false_negatives); }
Value precision_of(const Counts& counts) { return share_of(counts.true_positives, counts.false_positives); }
Value specificity_of(const Counts& counts) { return share_of(counts.true_negatives, counts.false_positives); }

/// A figure of one threshold is a scalar.
Value of_thresholds(Value x) { return x.shape()[0] == 1 ? ops::reshape(x, {}) : x; }

/// Those that a caller gave, or `otherwise`.
Thresholds given(const std::string& where, const Doubles& thresholds, double otherwise) {
  for (const double each : thresholds.all())
    check(each >= 0 && each <= 1, ErrorKind::value, where, "thresholds with ", each,
          " - expected numbers from 0 to 1 - set thresholds.");
  return thresholds_of(thresholds.empty() ? std::vector{otherwise} : thresholds.all());
}

MetricPtr count_of(std::size_t which, const char* name, const ConfusionCountOptions& options) {
  CountSettings settings{.name = options.name.empty() ? name : options.name};
  settings.thresholds = given(settings.name, options.thresholds, 0.5);
  settings.better = Direction::unknown;
  settings.kept[which] = true;
  settings.figure = [which](const Counts& counts) {
    const Value all[] = {counts.true_positives, counts.false_positives, counts.true_negatives, counts.false_negatives};
    return of_thresholds(all[which]);
  };
  return std::make_shared<CountedMetric>(std::move(settings));
}

/// True positives among those and the other count.
MetricPtr share_metric(std::size_t other, const char* name, const PrecisionOptions& options) {
  CountSettings settings{.name = options.name.empty() ? name : options.name};
  check(!options.top_k || *options.top_k > 0, ErrorKind::value, settings.name, "top_k = ", options.top_k.value_or(0),
        " - expected 1 or more - set top_k.");
  settings.thresholds = given(settings.name, options.thresholds, options.top_k ? -1e10 : 0.5);
  settings.top_k = options.top_k;
  settings.class_id = options.class_id;
  settings.kept[0] = settings.kept[other] = true;
  settings.figure = [other](const Counts& counts) {
    return of_thresholds(other == 1 ? precision_of(counts) : recall_of(counts));
  };
  return std::make_shared<CountedMetric>(std::move(settings));
}

using Figure = Value (*)(const Counts&);

/// The best of a figure where another one is at least `bound`.
template <class Options>
MetricPtr best_at(const char* what, double bound, Figure bounded, Figure figure, const Options& options) {
  check(bound >= 0 && bound <= 1, ErrorKind::value, options.name, what, " = ", bound,
        " - expected a number from 0 to 1 - set ", what, '.');
  check(options.num_thresholds > 0, ErrorKind::value, options.name, "num_thresholds = ", options.num_thresholds,
        " - expected 1 or more - set num_thresholds.");
  CountSettings settings{.name = options.name};
  settings.thresholds.count = options.num_thresholds;
  if (options.num_thresholds == 1) settings.thresholds.each = {0.5};
  settings.class_id = options.class_id;
  settings.kept = {true, true, true, true};
  settings.figure = [=](const Counts& counts) {
    const Value allowed = bounded(counts), y = figure(counts);
    return ops::max(ops::where(ops::greater_equal(allowed, ops::scalar(bound, allowed)), y, ops::scalar(0, y)));
  };
  return std::make_shared<CountedMetric>(std::move(settings));
}

// ---- Areas ----

/// Names that Keras spells in two ways: "ROC" and "roc".
std::size_t choice_of(const AUCOptions& options, const char* what, const std::string& given,
                      std::initializer_list<const char*> names) {
  const auto lower = [](std::string text) {
    for (char& c : text)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
  };
  std::string known;
  std::size_t index = 0;
  for (const char* name : names) {
    if (lower(name) == lower(given)) return index;
    known.append(index++ ? ", \"" : "\"").append(name).append("\"");
  }
  fail(ErrorKind::value, options.name, what, " = \"", given, "\" - expected one of: ", known, " - choose one.");
}

enum Curve : std::size_t { roc, precision_recall, precision_recall_gain };
enum Summation : std::size_t { interpolation, minoring, majoring };

Value without_last(Value x) { return ops::slice(x, 0, 0, x.shape()[0] - 1); }
Value without_first(Value x) { return ops::slice(x, 0, 1, x.shape()[0] - 1); }

/// Under precision over recall, whose points between thresholds lie on no line. Source: Davis & Goadrich, 2006.
Value interpolated_areas(const Counts& counts) {
  const Value predicted = counts.true_positives + counts.false_positives;
  const Value next_true = without_first(counts.true_positives), next = without_first(predicted);
  const Value now = without_last(predicted), zero = ops::scalar(0, now);
  const Value less_true = without_last(counts.true_positives) - next_true;
  const Value slope = ops::divide_no_nan(less_true, ops::maximum(now - next, zero));
  const Value intercept = next_true - slope * next;
  const Value both = ops::logical_and(ops::greater(now, zero), ops::greater(next, zero));
  const Value ratio = ops::where(both, ops::divide_no_nan(now, ops::maximum(next, zero)), ops::scalar(1, now));
  return ops::divide_no_nan(slope * (less_true + intercept * ops::log(ratio)),
                            ops::maximum(next_true + without_first(counts.false_negatives), zero));
}

/// Recall gain and precision gain, which are not defined where nothing is truly positive. Source: Flach & Kull, 2015.
std::pair<Value, Value> gains(const Counts& counts) {
  const Value scale = ops::divide_no_nan(counts.true_positives + counts.false_negatives,
                                         counts.true_negatives + counts.false_positives);
  const Value none = ops::equal(counts.true_positives, ops::scalar(0, counts.true_positives));
  const auto gain = [&](Value wrong, double otherwise) {
    const Value x = 1 - scale * ops::divide_no_nan(wrong, counts.true_positives);
    return ops::where(none, ops::scalar(otherwise, x), x);
  };
  const Value recall = gain(counts.false_negatives, 0);
  return {ops::maximum(recall, ops::scalar(0, recall)), gain(counts.false_positives, 1)};
}

Value areas(Curve curve, Summation summation, const Counts& counts) {
  if (curve == precision_recall && summation == interpolation) return interpolated_areas(counts);
  const Value recall = recall_of(counts);
  const auto [x, y] = curve == roc ? std::pair{share_of(counts.false_positives, counts.true_negatives), recall}
                      : curve == precision_recall ? std::pair{recall, precision_of(counts)}
                                                  : gains(counts);
  const Value left = without_last(y), right = without_first(y);
  const Value heights = summation == interpolation ? (left + right) / 2.0
                        : summation == minoring    ? ops::minimum(left, right)
                                                   : ops::maximum(left, right);
  return (without_last(x) - without_first(x)) * heights;
}

}  // namespace

MetricPtr TruePositives::make(const ConfusionCountOptions& options) { return count_of(0, "true_positives", options); }
MetricPtr FalsePositives::make(const ConfusionCountOptions& options) { return count_of(1, "false_positives", options); }
MetricPtr TrueNegatives::make(const ConfusionCountOptions& options) { return count_of(2, "true_negatives", options); }
MetricPtr FalseNegatives::make(const ConfusionCountOptions& options) { return count_of(3, "false_negatives", options); }
MetricPtr Precision::make(const PrecisionOptions& options) { return share_metric(1, "precision", options); }
MetricPtr Recall::make(const PrecisionOptions& options) { return share_metric(3, "recall", options); }

MetricPtr SensitivityAtSpecificity::make(const SensitivityAtSpecificityOptions& options) {
  return best_at("specificity", options.specificity, specificity_of, recall_of, options);
}
MetricPtr SpecificityAtSensitivity::make(const SpecificityAtSensitivityOptions& options) {
  return best_at("sensitivity", options.sensitivity, recall_of, specificity_of, options);
}
MetricPtr PrecisionAtRecall::make(const PrecisionAtRecallOptions& options) {
  return best_at("recall", options.recall, recall_of, precision_of, options);
}
MetricPtr RecallAtPrecision::make(const RecallAtPrecisionOptions& options) {
  return best_at("precision", options.precision, precision_of, recall_of, options);
}

MetricPtr AUC::make(const AUCOptions& options) {
  CountSettings settings{.name = options.name};
  settings.thresholds = {.count = options.num_thresholds, .begins_below_0 = true};
  if (std::vector<double> each = options.thresholds.all(); !each.empty()) {
    check(std::ranges::all_of(each, [](double number) { return std::isfinite(number); }), ErrorKind::value,
          options.name, "thresholds that are not finite - expected numbers from 0 to 1 - set thresholds.");
    heap_sort(each);
    each.insert(each.begin(), 0);
    each.push_back(1);
    settings.thresholds = thresholds_of(each);
    settings.thresholds.begins_below_0 = true;
    if (auto& uneven = settings.thresholds.each; !uneven.empty()) {
      uneven.front() = -epsilon();
      uneven.back() = 1 + epsilon();
    }
  }
  check(settings.thresholds.count > 1, ErrorKind::value, options.name, "num_thresholds = ", options.num_thresholds,
        " - expected 2 or more - set num_thresholds.");
  check(options.multi_label || !options.num_labels.value_or(0), ErrorKind::value, options.name,
        "num_labels = ", options.num_labels.value_or(0),
        " without multi_label - expected none - set multi_label, or leave it out.");
  check(options.num_labels.value_or(0) >= 0, ErrorKind::value, options.name,
        "num_labels = ", options.num_labels.value_or(0), " - expected 1 or more - set num_labels.");
  const auto curve = Curve(choice_of(options, "curve", options.curve, {"ROC", "PR", "PRGAIN"}));
  const auto summation = Summation(
      choice_of(options, "summation_method", options.summation_method, {"interpolation", "minoring", "majoring"}));
  settings.multi_label = options.multi_label;
  if (options.num_labels.value_or(0)) settings.num_labels = options.num_labels;
  settings.label_weights = options.label_weights;
  settings.from_logits = options.from_logits;
  settings.kept = {true, true, true, true};
  settings.figure = [=, weights = options.label_weights, many = options.multi_label,
                     name = options.name](const Counts& counts) {
    const Value area = ops::sum(areas(curve, summation, counts), {0});
    if (!many) return area;
    if (weights.empty()) return ops::mean(area);
    check(area.shape().size() == std::ssize(weights), ErrorKind::shape, name, weights.size(), " label_weights for ",
          area.shape().size(), " labels - expected one for each - set label_weights.");
    const Value of_labels = vector_of(weights);
    return ops::divide_no_nan(ops::sum(area * of_labels), ops::sum(of_labels));
  };
  return std::make_shared<CountedMetric>(std::move(settings));
}

}  // namespace etude::metrics
