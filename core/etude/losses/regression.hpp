#pragma once

#include "etude/losses/loss.hpp"

namespace etude::losses {

struct HuberOptions {
  double delta = 1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "huber_loss", dtype = {};
  template <class O = HuberOptions> static constexpr auto fields() {
    return option_rows(option<&O::delta>("Error from which the loss grows linearly."), loss_fields<O>());
  }
};
struct CosineSimilarityOptions {
  std::ptrdiff_t axis = -1;
  std::string reduction = "sum_over_batch_size";
  std::string name = "cosine_similarity", dtype = {};
  template <class O = CosineSimilarityOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axis along which it is computed."), loss_fields<O>());
  }
};

// t, p: targets and predictions [batch, ..]; a target may have extents of 1 where the prediction has more, except for
// the batch axis.

/// mean((t - p)²) over the last axis.
struct MeanSquaredError {
  static constexpr ClassText about{
      .name = "MeanSquaredError", .text = "Mean of (y_true - y_pred)² over the last axis.", .aliases = "mse"};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<MeanSquaredError> mean_squared_error;

/// mean(|t - p|) over the last axis.
struct MeanAbsoluteError {
  static constexpr ClassText about{
      .name = "MeanAbsoluteError", .text = "Mean of |y_true - y_pred| over the last axis.", .aliases = "mae"};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<MeanAbsoluteError> mean_absolute_error;

/// 100 · mean(|t - p| / max(|t|, epsilon())) over the last axis.
struct MeanAbsolutePercentageError {
  static constexpr ClassText about{.name = "MeanAbsolutePercentageError",
                                   .text = "100 times the mean of |y_true - y_pred| / |y_true| over the last axis.",
                                   .aliases = "mape"};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<MeanAbsolutePercentageError> mean_absolute_percentage_error;

/// mean((log(t + 1) - log(p + 1))²) over the last axis, t and p at least epsilon().
struct MeanSquaredLogarithmicError {
  static constexpr ClassText about{.name = "MeanSquaredLogarithmicError",
                                   .text = "Mean of (log(y_true + 1) - log(y_pred + 1))² over the last axis.",
                                   .aliases = "msle"};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<MeanSquaredLogarithmicError> mean_squared_logarithmic_error;

/// mean(0.5 e² where |e| <= delta, else delta |e| - 0.5 delta²) of e = t - p over the last axis.
struct Huber {
  static constexpr ClassText about{.name = "Huber",
                                   .text = "Quadratic for errors up to delta, linear beyond; mean over the last axis.",
                                   .aliases = "huber_loss"};
  static LossPtr make(const HuberOptions& options);
};
inline constexpr Factory<Huber> huber;

/// mean(log(cosh(p - t))) over the last axis.
struct LogCosh {
  static constexpr ClassText about{"LogCosh", "Mean of log(cosh(y_pred - y_true)) over the last axis."};
  static LossPtr make(const LossOptions& options);
};
inline constexpr Factory<LogCosh> log_cosh;

/// -sum(t p) / (‖t‖ ‖p‖) along `axis`: -1 for equal directions, 0 if one of them is zero. Throws Error(shape) unless
/// shapes are equal.
struct CosineSimilarity {
  static constexpr ClassText about{"CosineSimilarity",
                                   "Minus the cosine of the angle between y_true and y_pred along an axis."};
  static LossPtr make(const CosineSimilarityOptions& options);
};
inline constexpr Factory<CosineSimilarity> cosine_similarity;

}  // namespace etude::losses
