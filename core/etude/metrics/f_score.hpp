#pragma once

#include <optional>

#include "etude/metrics/metric.hpp"

/// F-scores: weighted harmonic means of precision and recall. Source: keras/src/metrics/f_score_metrics.py.
namespace etude::metrics {

/// The rows that both have in common.
template <class Options> constexpr auto f_score_fields() {
  return option_rows(option<&Options::threshold>("Prediction above which a class is predicted, at most 1. Default: the "
                                                 "largest prediction of a row is."),
                     metric_fields<Options>());
}
struct FBetaScoreOptions {
  std::optional<std::string> average = {};
  double beta = 1;
  std::optional<double> threshold = {};
  std::string name = "fbeta_score", dtype = {};
  template <class O = FBetaScoreOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::average>(
            "What the figures of the classes become: \"micro\" (one figure of all entries), \"macro\" (their mean) or "
            "\"weighted\" (their mean by true entries). Default: a figure for each class."),
        option<&O::beta>("How much recall counts beside precision, above 0."), f_score_fields<O>());
  }
};
struct F1ScoreOptions {
  std::optional<std::string> average = {};
  std::optional<double> threshold = {};
  std::string name = "f1_score", dtype = {};
  template <class O = F1ScoreOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::average>(
            "What the figures of the classes become: \"micro\" (one figure of all entries), \"macro\" (their mean) or "
            "\"weighted\" (their mean by true entries). Default: a figure for each class."),
        f_score_fields<O>());
  }
};

/// (1 + beta²) · precision · recall / (beta² · precision + recall), of y_true and y_pred [batch, classes]: [classes],
/// or a scalar with `average` (M-8). Throws Error(value) for another average, a beta of 0 or less and a threshold
/// outside of (0, 1]; Error(shape) for other ranks.
struct FBetaScore {
  static constexpr ClassText about{.name = "FBetaScore", .text = "Weighted harmonic mean of precision and recall."};
  static MetricPtr make(const FBetaScoreOptions& options);
};
inline constexpr Factory<FBetaScore> f_beta_score;

/// FBetaScore with beta = 1.
struct F1Score {
  static constexpr ClassText about{"F1Score", "Harmonic mean of precision and recall."};
  static MetricPtr make(const F1ScoreOptions& options);
};
inline constexpr Factory<F1Score> f1_score;

}  // namespace etude::metrics
