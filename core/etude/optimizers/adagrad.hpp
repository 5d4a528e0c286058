#pragma once

#include "etude/optimizers/optimizer.hpp"

namespace etude::optimizers {

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "rmsprop";

  template <class O = RMSpropOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::rho>("Decay of the average of the squared gradients, from 0 to 1."),
        option<&O::momentum>("Fraction of the last step that the next one keeps, from 0 to 1."),
        option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::centered>("Whether gradients are normalized by their estimated variance."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "adagrad";

  template <class O = AdagradOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::initial_accumulator_value>("Initial value of the sums of squared gradients."),
        option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "adadelta";

  template <class O = AdadeltaOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::rho>("Decay of the averages, from 0 to 1."),
        option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};
struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5, initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0, l2_regularization_strength = 0, l2_shrinkage_regularization_strength = 0;
  double beta = 0;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "ftrl";

  template <class O = FtrlOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::learning_rate_power>("Exponent of the learning rate in the sum of squared gradients: 0 or less."),
        option<&O::initial_accumulator_value>("Initial value of the sums of squared gradients."),
        option<&O::l1_regularization_strength>("Factor of the L1 penalty."),
        option<&O::l2_regularization_strength>("Factor of the L2 penalty."),
        option<&O::l2_shrinkage_regularization_strength>("Factor of an L2 penalty on magnitudes."),
        option<&O::beta>("Number added to the square root of the sums."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};

// Steps scaled by accumulated squared gradients. Each throws Error(value) for a momentum or rho outside [0, 1] and for
// other numbers that are negative or not finite.

/// s = rho s + (1 - rho) g²; w -= lr g / sqrt(s + epsilon), epsilon inside the root (O-2).
struct RMSprop {
  static constexpr ClassText about{.name = "RMSprop",
                                   .text = "Divides gradients by the root of the average of their squares.",
                                   .factory = "rmsprop"};
  static OptimizerPtr make(const RMSpropOptions& options);
};
inline constexpr Factory<RMSprop> rmsprop;

/// s += g²; w -= lr g / sqrt(s + epsilon) (O-7).
struct Adagrad {
  static constexpr ClassText about{"Adagrad", "Divides gradients by the root of the sum of their squares."};
  static OptimizerPtr make(const AdagradOptions& options);
};
inline constexpr Factory<Adagrad> adagrad;

/// w -= lr g sqrt(d + epsilon) / sqrt(s + epsilon), where s and d are averages of the squares of gradients and of steps
/// (O-8). Source: arXiv 1212.5701.
struct Adadelta {
  static constexpr ClassText about{"Adadelta",
                                   "Steps by the ratio of averages of squared steps and squared gradients."};
  static OptimizerPtr make(const AdadeltaOptions& options);
};
inline constexpr Factory<Adadelta> adadelta;

/// "Follow the regularized leader" (O-9); learning_rate_power must be 0 or less. Source: McMahan et al. 2013.
struct Ftrl {
  static constexpr ClassText about{"Ftrl", "Follows the regularized leader: for sparse models."};
  static OptimizerPtr make(const FtrlOptions& options);
};
inline constexpr Factory<Ftrl> ftrl;

}  // namespace etude::optimizers
