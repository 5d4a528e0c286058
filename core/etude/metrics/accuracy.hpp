#pragma once

#include "etude/metrics/metric.hpp"

namespace etude::metrics {

struct BinaryAccuracyOptions {
  std::string name = "binary_accuracy", dtype = {};
  double threshold = 0.5;
  template <class O = BinaryAccuracyOptions> static constexpr auto fields() {
    return option_rows(metric_fields<O>(), option<&O::threshold>("Threshold above which a prediction means class 1."));
  }
};
struct TopKCategoricalAccuracyOptions {
  std::int64_t k = 5;
  std::string name = "top_k_categorical_accuracy", dtype = {};
  template <class O = TopKCategoricalAccuracyOptions> static constexpr auto fields() {
    return option_rows(option<&O::k>("Number of the largest predictions that count."), metric_fields<O>());
  }
};
struct SparseTopKCategoricalAccuracyOptions {
  std::int64_t k = 5;
  std::string name = "sparse_top_k_categorical_accuracy", dtype = {};
  /// Whether y_pred [.., n] holds class ids, the most probable first, instead of scores.
  bool from_sorted_ids = false;
  template <class O = SparseTopKCategoricalAccuracyOptions> static constexpr auto fields() {
    return option_rows(option<&O::k>("Number of the largest predictions that count."), metric_fields<O>(),
                       option<&O::from_sorted_ids>("Whether predictions are class ids, the most probable first."));
  }
};

/// How often y_true equals y_pred.
struct Accuracy {
  static constexpr ClassText about{.name = "Accuracy", .text = "How often y_true equals y_pred.", .aliases = "acc"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<Accuracy> accuracy;

/// How often (y_pred > threshold) equals y_true (M-2). Throws Error(value) unless 0 < threshold < 1.
struct BinaryAccuracy {
  static constexpr ClassText about{"BinaryAccuracy", "How often y_pred above a threshold equals y_true."};
  static MetricPtr make(const BinaryAccuracyOptions& options);
};
inline constexpr Factory<BinaryAccuracy> binary_accuracy;

/// How often the largest of y_pred is the largest of y_true (M-3).
struct CategoricalAccuracy {
  static constexpr ClassText about{"CategoricalAccuracy",
                                   "How often the largest prediction is that of the class, for one-hot targets."};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<CategoricalAccuracy> categorical_accuracy;

/// How often the largest of y_pred is at the index y_true.
struct SparseCategoricalAccuracy {
  static constexpr ClassText about{"SparseCategoricalAccuracy",
                                   "How often the largest prediction is that of the class, for integer class ids."};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<SparseCategoricalAccuracy> sparse_categorical_accuracy;

/// How often fewer than k of y_pred are larger than the prediction of y_true's largest class; never if that prediction
/// is not finite. Throws Error(value) unless k > 0.
struct TopKCategoricalAccuracy {
  static constexpr ClassText about{
      .name = "TopKCategoricalAccuracy",
      .text = "How often the class is among the k largest predictions, for one-hot targets.",
      .factory = "top_k_categorical_accuracy"};
  static MetricPtr make(const TopKCategoricalAccuracyOptions& options);
};
inline constexpr Factory<TopKCategoricalAccuracy> top_k_categorical_accuracy;

/// The same for the prediction at the index y_true.
struct SparseTopKCategoricalAccuracy {
  static constexpr ClassText about{
      .name = "SparseTopKCategoricalAccuracy",
      .text = "How often the class is among the k largest predictions, for integer class ids.",
      .factory = "sparse_top_k_categorical_accuracy"};
  static MetricPtr make(const SparseTopKCategoricalAccuracyOptions& options);
};
inline constexpr Factory<SparseTopKCategoricalAccuracy> sparse_top_k_categorical_accuracy;

}  // namespace etude::metrics
