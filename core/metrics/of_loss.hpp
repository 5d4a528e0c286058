#pragma once

#include <optional>

#include "etude/metrics/metric.hpp"

/// Losses as metrics: the weighted mean of what a loss gives each sample.
namespace etude::metrics {

struct BinaryCrossentropyMetricOptions {
  std::string name = "binary_crossentropy";
  bool from_logits = false;
  double label_smoothing = 0;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("name", self.name);
    visit("from_logits", self.from_logits);
    visit("label_smoothing", self.label_smoothing);
  }
};
struct CategoricalCrossentropyMetricOptions {
  std::string name = "categorical_crossentropy";
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("name", self.name);
    visit("from_logits", self.from_logits);
    visit("label_smoothing", self.label_smoothing);
    visit("axis", self.axis);
  }
};
struct SparseCategoricalCrossentropyMetricOptions {
  std::string name = "sparse_categorical_crossentropy";
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = {};
  std::ptrdiff_t axis = -1;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("name", self.name);
    visit("from_logits", self.from_logits);
    visit("ignore_class", self.ignore_class);
    visit("axis", self.axis);
  }
};
struct CosineSimilarityMetricOptions {
  std::string name = "cosine_similarity";
  std::ptrdiff_t axis = -1;
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("name", self.name);
    visit("axis", self.axis);
  }
};

MetricPtr mean_squared_error(MetricOptions options = {});
MetricPtr mean_absolute_error(MetricOptions options = {});
MetricPtr mean_absolute_percentage_error(MetricOptions options = {});
MetricPtr mean_squared_logarithmic_error(MetricOptions options = {});
/// The root of the weighted mean of all (t - p)².
MetricPtr root_mean_squared_error(MetricOptions options = {});
MetricPtr log_cosh_error(MetricOptions options = {});
/// With the sign that the loss has not: 1 for equal directions.
MetricPtr cosine_similarity(CosineSimilarityMetricOptions options = {});
MetricPtr hinge(MetricOptions options = {});
MetricPtr squared_hinge(MetricOptions options = {});
MetricPtr categorical_hinge(MetricOptions options = {});
MetricPtr kl_divergence(MetricOptions options = {});
MetricPtr poisson(MetricOptions options = {});
MetricPtr binary_crossentropy(BinaryCrossentropyMetricOptions options = {});
MetricPtr categorical_crossentropy(CategoricalCrossentropyMetricOptions options = {});
/// Entries of ignore_class are 0. They count in the mean where there are no sample weights; where there are, their
/// weight is 0, as in Keras 3.
MetricPtr sparse_categorical_crossentropy(SparseCategoricalCrossentropyMetricOptions options = {});

}  // namespace etude::metrics
