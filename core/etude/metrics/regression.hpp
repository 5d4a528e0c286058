#pragma once

#include <optional>

#include "etude/metrics/metric.hpp"

/// How well predictions vary with targets.
namespace etude::metrics {

struct R2ScoreOptions {
  std::optional<std::string> class_aggregation = "uniform_average";
  std::int64_t num_regressors = 0;
  std::string name = "r2_score", dtype = {};
  template <class O = R2ScoreOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::class_aggregation>(
            "What the figures of the outputs become: \"uniform_average\" (their mean), \"variance_weighted_average\" "
            "(their mean by the variance of the targets) or null (a figure for each output)."),
        option<&O::num_regressors>("Number of features, of the adjusted R²; 0: not adjusted."), metric_fields<O>());
  }
};
struct PearsonCorrelationOptions {
  std::string name = "pearson_correlation", dtype = {};
  std::ptrdiff_t axis = -1;
  template <class O = PearsonCorrelationOptions> static constexpr auto fields() {
    return option_rows(metric_fields<O>(), option<&O::axis>("Axis along which it is computed."));
  }
};
struct ConcordanceCorrelationOptions {
  std::string name = "concordance_correlation", dtype = {};
  std::ptrdiff_t axis = -1;
  template <class O = ConcordanceCorrelationOptions> static constexpr auto fields() {
    return option_rows(metric_fields<O>(), option<&O::axis>("Axis along which it is computed."));
  }
};

/// 1 - sum (y_true - y_pred)² / sum (y_true - mean)², of y_true and y_pred [batch, outputs]: a scalar, or [outputs]
/// (M-8). An output whose targets are all equal counts as 0. The adjusted R² counts rows as samples, as Keras 3.16 does
/// and 3.15 does not; where there are not more of them than num_regressors + 1 it is not adjusted. Throws Error(value)
/// for another class_aggregation and negative num_regressors; Error(shape) for other ranks. Source:
/// keras/src/metrics/regression_metrics.py.
struct R2Score {
  static constexpr ClassText about{"R2Score", "Share of the targets' variance that predictions explain."};
  static MetricPtr make(const R2ScoreOptions& options);
};
inline constexpr Factory<R2Score> r2_score;

/// The mean of the correlation coefficient along `axis`; NaN where targets or predictions do not vary. Source:
/// keras/src/metrics/correlation_metrics.py.
struct PearsonCorrelation {
  static constexpr ClassText about{"PearsonCorrelation", "Mean Pearson correlation coefficient."};
  static MetricPtr make(const PearsonCorrelationOptions& options);
};
inline constexpr Factory<PearsonCorrelation> pearson_correlation;

/// The mean of the concordance correlation coefficient along `axis`, as Keras computes it. Source:
/// keras/src/metrics/correlation_metrics.py.
struct ConcordanceCorrelation {
  static constexpr ClassText about{"ConcordanceCorrelation", "Mean concordance correlation coefficient."};
  static MetricPtr make(const ConcordanceCorrelationOptions& options);
};
inline constexpr Factory<ConcordanceCorrelation> concordance_correlation;

}  // namespace etude::metrics
