#pragma once

#include "etude/metrics/metric.hpp"

namespace etude::metrics {

struct BinaryAccuracyOptions {
  std::string name = "binary_accuracy";
  double threshold = 0.5;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("name", self.name);
    visit("threshold", self.threshold);
  }
};
struct TopKCategoricalAccuracyOptions {
  std::int64_t k = 5;
  std::string name = "top_k_categorical_accuracy";
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("k", self.k);
    visit("name", self.name);
  }
};
struct SparseTopKCategoricalAccuracyOptions {
  std::int64_t k = 5;
  std::string name = "sparse_top_k_categorical_accuracy";
  /// Whether y_pred [.., n] holds the numbers of classes, the likeliest first, instead of scores.
  bool from_sorted_ids = false;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("k", self.k);
    visit("name", self.name);
    visit("from_sorted_ids", self.from_sorted_ids);
  }
};

/// How often y_true equals y_pred.
MetricPtr accuracy(MetricOptions options = {});
/// How often (y_pred > threshold) equals y_true (M-2). Throws Error(value) unless 0 < threshold < 1.
MetricPtr binary_accuracy(BinaryAccuracyOptions options = {});
/// How often the largest of y_pred is the largest of y_true (M-3).
MetricPtr categorical_accuracy(MetricOptions options = {});
/// How often the largest of y_pred is at the index y_true.
MetricPtr sparse_categorical_accuracy(MetricOptions options = {});
/// How often fewer than k of y_pred are larger than the one where y_true is largest; never where that one is not
/// finite. Throws Error(value) unless k > 0.
MetricPtr top_k_categorical_accuracy(TopKCategoricalAccuracyOptions options = {});
/// The same of the one at the index y_true.
MetricPtr sparse_top_k_categorical_accuracy(SparseTopKCategoricalAccuracyOptions options = {});

}  // namespace etude::metrics
