#pragma once

#include <optional>

#include "etude/metrics/metric.hpp"

/// Losses as metrics: the weighted mean of the losses of samples.
namespace etude::metrics {

struct BinaryCrossentropyMetricOptions {
  std::string name = "binary_crossentropy", dtype = {};
  bool from_logits = false;
  double label_smoothing = 0;
  template <class O = BinaryCrossentropyMetricOptions> static constexpr auto fields() {
    return option_rows(
        metric_fields<O>(), option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
        option<&O::label_smoothing>("How far targets are moved towards the uniform distribution, from 0 to 1."));
  }
};
struct CategoricalCrossentropyMetricOptions {
  std::string name = "categorical_crossentropy", dtype = {};
  bool from_logits = false;
  double label_smoothing = 0;
  std::ptrdiff_t axis = -1;
  template <class O = CategoricalCrossentropyMetricOptions> static constexpr auto fields() {
    return option_rows(
        metric_fields<O>(), option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
        option<&O::label_smoothing>("How far targets are moved towards the uniform distribution, from 0 to 1."),
        option<&O::axis>("Axis along which it is computed."));
  }
};
struct SparseCategoricalCrossentropyMetricOptions {
  std::string name = "sparse_categorical_crossentropy", dtype = {};
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = {};
  std::ptrdiff_t axis = -1;
  template <class O = SparseCategoricalCrossentropyMetricOptions> static constexpr auto fields() {
    return option_rows(metric_fields<O>(),
                       option<&O::from_logits>("Whether predictions are logits rather than probabilities."),
                       option<&O::ignore_class>("A class of samples that are ignored."),
                       option<&O::axis>("Axis along which it is computed."));
  }
};
struct CosineSimilarityMetricOptions {
  std::string name = "cosine_similarity", dtype = {};
  std::ptrdiff_t axis = -1;
  template <class O = CosineSimilarityMetricOptions> static constexpr auto fields() {
    return option_rows(metric_fields<O>(), option<&O::axis>("Axis along which it is computed."));
  }
};

struct MeanSquaredError {
  static constexpr ClassText about{.name = "MeanSquaredError", .text = "Mean of (y_true - y_pred)².", .aliases = "mse"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<MeanSquaredError> mean_squared_error;

struct MeanAbsoluteError {
  static constexpr ClassText about{.name = "MeanAbsoluteError", .text = "Mean of |y_true - y_pred|.", .aliases = "mae"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<MeanAbsoluteError> mean_absolute_error;

struct MeanAbsolutePercentageError {
  static constexpr ClassText about{.name = "MeanAbsolutePercentageError",
                                   .text = "100 times the mean of |y_true - y_pred| / |y_true|.",
                                   .aliases = "mape"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<MeanAbsolutePercentageError> mean_absolute_percentage_error;

struct MeanSquaredLogarithmicError {
  static constexpr ClassText about{.name = "MeanSquaredLogarithmicError",
                                   .text = "Mean of (log(y_true + 1) - log(y_pred + 1))².",
                                   .aliases = "msle"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<MeanSquaredLogarithmicError> mean_squared_logarithmic_error;

/// The root of the weighted mean of all (t - p)².
struct RootMeanSquaredError {
  static constexpr ClassText about{
      .name = "RootMeanSquaredError", .text = "Square root of the mean of (y_true - y_pred)².", .aliases = "rmse"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<RootMeanSquaredError> root_mean_squared_error;

struct LogCoshError {
  static constexpr ClassText about{
      .name = "LogCoshError", .text = "Mean of log(cosh(y_pred - y_true)).", .aliases = "log_cosh"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<LogCoshError> log_cosh_error;

/// With the opposite sign of the loss: 1 for equal directions.
struct CosineSimilarity {
  static constexpr ClassText about{"CosineSimilarity", "Mean cosine of the angle between y_true and y_pred."};
  static MetricPtr make(const CosineSimilarityMetricOptions& options);
};
inline constexpr Factory<CosineSimilarity> cosine_similarity;

struct Hinge {
  static constexpr ClassText about{"Hinge", "Mean hinge loss."};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<Hinge> hinge;

struct SquaredHinge {
  static constexpr ClassText about{"SquaredHinge", "Mean squared hinge loss."};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<SquaredHinge> squared_hinge;

struct CategoricalHinge {
  static constexpr ClassText about{"CategoricalHinge", "Mean categorical hinge loss."};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<CategoricalHinge> categorical_hinge;

struct KLDivergence {
  static constexpr ClassText about{.name = "KLDivergence",
                                   .text = "Mean Kullback-Leibler divergence.",
                                   .aliases = "kullback_leibler_divergence kld"};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<KLDivergence> kl_divergence;

struct Poisson {
  static constexpr ClassText about{"Poisson", "Mean Poisson loss."};
  static MetricPtr make(const MetricOptions& options);
};
inline constexpr Factory<Poisson> poisson;

struct BinaryCrossentropy {
  static constexpr ClassText about{.name = "BinaryCrossentropy", .text = "Mean binary crossentropy.", .aliases = "bce"};
  static MetricPtr make(const BinaryCrossentropyMetricOptions& options);
};
inline constexpr Factory<BinaryCrossentropy> binary_crossentropy;

struct CategoricalCrossentropy {
  static constexpr ClassText about{
      .name = "CategoricalCrossentropy", .text = "Mean categorical crossentropy.", .aliases = "crossentropy ce"};
  static MetricPtr make(const CategoricalCrossentropyMetricOptions& options);
};
inline constexpr Factory<CategoricalCrossentropy> categorical_crossentropy;

/// Entries of ignore_class are 0. They count in the mean if there are no sample weights; otherwise their weight is 0,
/// as in Keras 3.
struct SparseCategoricalCrossentropy {
  static constexpr ClassText about{"SparseCategoricalCrossentropy", "Mean sparse categorical crossentropy."};
  static MetricPtr make(const SparseCategoricalCrossentropyMetricOptions& options);
};
inline constexpr Factory<SparseCategoricalCrossentropy> sparse_categorical_crossentropy;

}  // namespace etude::metrics
