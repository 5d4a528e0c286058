#pragma once

#include <limits>
#include <optional>

#include "etude/base/doubles.hpp"
#include "etude/metrics/metric.hpp"

/// Figures of how often predictions above thresholds are true: y_true and y_pred [batch, ..], of which y_true is 0
/// where it is false. sample_weight [batch, ..] weighs entries. All throw Error(shape) for targets of another shape
/// than the predictions, Error(value) for options out of their range. Source: keras/src/metrics/confusion_metrics.py.
namespace etude::metrics {

struct ConfusionCountOptions {
  Doubles thresholds = {};
  /// That of its class where it is empty.
  std::string name = {}, dtype = {};
  template <class O = ConfusionCountOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::thresholds>(
            "Predictions above it are positive, from 0 to 1; of several thresholds there is a figure for each. "
            "Default: 0.5."),
        metric_fields<O>());
  }
};

struct PrecisionOptions {
  Doubles thresholds = {};
  std::optional<std::int64_t> top_k = {}, class_id = {};
  /// That of its class where it is empty.
  std::string name = {}, dtype = {};
  template <class O = PrecisionOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::thresholds>(
            "Predictions above it are positive, from 0 to 1; of several thresholds there is a figure for each. "
            "Default: 0.5, or with top_k none."),
        option<&O::top_k>("How many of the largest predictions of a row may be positive. Default: all."),
        option<&O::class_id>("Index of the class along the last axis that counts alone. Default: all."),
        metric_fields<O>());
  }
};

/// The rows that metrics at a bound have in common.
template <class Options> constexpr auto bound_fields() {
  return option_rows(
      option<&Options::num_thresholds>("Number of thresholds between 0 and 1 that are tried."),
      option<&Options::class_id>("Index of the class along the last axis that counts alone. Default: all."),
      metric_fields<Options>());
}
struct SensitivityAtSpecificityOptions {
  double specificity = std::numeric_limits<double>::quiet_NaN();
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = "sensitivity_at_specificity", dtype = {};
  template <class O = SensitivityAtSpecificityOptions> static constexpr auto fields() {
    return option_rows(option<&O::specificity>("Least specificity, from 0 to 1.", Need::required), bound_fields<O>());
  }
};
struct SpecificityAtSensitivityOptions {
  double sensitivity = std::numeric_limits<double>::quiet_NaN();
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = "specificity_at_sensitivity", dtype = {};
  template <class O = SpecificityAtSensitivityOptions> static constexpr auto fields() {
    return option_rows(option<&O::sensitivity>("Least sensitivity, from 0 to 1.", Need::required), bound_fields<O>());
  }
};
struct PrecisionAtRecallOptions {
  double recall = std::numeric_limits<double>::quiet_NaN();
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = "precision_at_recall", dtype = {};
  template <class O = PrecisionAtRecallOptions> static constexpr auto fields() {
    return option_rows(option<&O::recall>("Least recall, from 0 to 1.", Need::required), bound_fields<O>());
  }
};
struct RecallAtPrecisionOptions {
  double precision = std::numeric_limits<double>::quiet_NaN();
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = "recall_at_precision", dtype = {};
  template <class O = RecallAtPrecisionOptions> static constexpr auto fields() {
    return option_rows(option<&O::precision>("Least precision, from 0 to 1.", Need::required), bound_fields<O>());
  }
};

struct AUCOptions {
  std::int64_t num_thresholds = 200;
  std::string curve = "ROC";
  std::string summation_method = "interpolation";
  std::string name = "auc", dtype = {};
  Doubles thresholds = {};
  bool multi_label = false;
  std::optional<std::int64_t> num_labels = {};
  std::vector<double> label_weights = {};
  bool from_logits = false;
  template <class O = AUCOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::num_thresholds>("Number of thresholds, of which two are outside of [0, 1]."),
        option<&O::curve>("\"ROC\", \"PR\" (precision over recall) or \"PRGAIN\"."),
        option<&O::summation_method>("How areas between thresholds are summed: \"interpolation\", "
                                     "\"minoring\" or \"majoring\"."),
        metric_fields<O>(),
        option<&O::thresholds>("The thresholds, to which one below 0 and one above 1 are added. Default: "
                               "num_thresholds at equal distances."),
        option<&O::multi_label>("Whether each label, of predictions [batch, labels], has a curve of its own, "
                                "whose areas are averaged."),
        option<&O::num_labels>("Number of labels, where each has a curve. Default: that of the predictions."),
        option<&O::label_weights>("Weight of each label."),
        option<&O::from_logits>("Whether predictions are logits rather than probabilities."));
  }
};

/// The weight of all entries that are true and predicted so. The figures of several thresholds are [thresholds].
struct TruePositives {
  static constexpr ClassText about{"TruePositives", "Number of true entries that are predicted as true."};
  static MetricPtr make(const ConfusionCountOptions& options);
};
inline constexpr Factory<TruePositives> true_positives;

struct FalsePositives {
  static constexpr ClassText about{"FalsePositives", "Number of false entries that are predicted as true."};
  static MetricPtr make(const ConfusionCountOptions& options);
};
inline constexpr Factory<FalsePositives> false_positives;

struct TrueNegatives {
  static constexpr ClassText about{"TrueNegatives", "Number of false entries that are predicted as false."};
  static MetricPtr make(const ConfusionCountOptions& options);
};
inline constexpr Factory<TrueNegatives> true_negatives;

struct FalseNegatives {
  static constexpr ClassText about{"FalseNegatives", "Number of true entries that are predicted as false."};
  static MetricPtr make(const ConfusionCountOptions& options);
};
inline constexpr Factory<FalseNegatives> false_negatives;

/// True positives / all that is predicted as true; 0 where there is none (M-5).
struct Precision {
  static constexpr ClassText about{"Precision", "Share of true entries among those that are predicted as true."};
  static MetricPtr make(const PrecisionOptions& options);
};
inline constexpr Factory<Precision> precision;

/// True positives / all that is true; 0 where there is none (M-5).
struct Recall {
  static constexpr ClassText about{"Recall", "Share of the true entries that are predicted as true."};
  static MetricPtr make(const PrecisionOptions& options);
};
inline constexpr Factory<Recall> recall;

/// The best sensitivity (recall) of all thresholds with at least that specificity, which is the share of false entries
/// that are predicted as false; 0 where no threshold has it.
struct SensitivityAtSpecificity {
  static constexpr ClassText about{.name = "SensitivityAtSpecificity",
                                   .text = "Best sensitivity at a specificity.",
                                   .example = R"({"specificity": 0.5})"};
  static MetricPtr make(const SensitivityAtSpecificityOptions& options);
};
inline constexpr Factory<SensitivityAtSpecificity> sensitivity_at_specificity;

struct SpecificityAtSensitivity {
  static constexpr ClassText about{.name = "SpecificityAtSensitivity",
                                   .text = "Best specificity at a sensitivity.",
                                   .example = R"({"sensitivity": 0.5})"};
  static MetricPtr make(const SpecificityAtSensitivityOptions& options);
};
inline constexpr Factory<SpecificityAtSensitivity> specificity_at_sensitivity;

struct PrecisionAtRecall {
  static constexpr ClassText about{
      .name = "PrecisionAtRecall", .text = "Best precision at a recall.", .example = R"({"recall": 0.5})"};
  static MetricPtr make(const PrecisionAtRecallOptions& options);
};
inline constexpr Factory<PrecisionAtRecall> precision_at_recall;

struct RecallAtPrecision {
  static constexpr ClassText about{
      .name = "RecallAtPrecision", .text = "Best recall at a precision.", .example = R"({"precision": 0.5})"};
  static MetricPtr make(const RecallAtPrecisionOptions& options);
};
inline constexpr Factory<RecallAtPrecision> recall_at_precision;

/// The area under a curve, as a sum over thresholds (M-6). multi_label takes y_pred [batch, labels]. label_weights
/// weigh the areas of labels then; without it the entries of each label, along the last axis.
struct AUC {
  static constexpr ClassText about{"AUC", "Area under the ROC curve, or under precision over recall."};
  static MetricPtr make(const AUCOptions& options);
};
inline constexpr Factory<AUC> auc;

}  // namespace etude::metrics
