#pragma once

#include "etude/optimizers/optimizer.hpp"

namespace etude::optimizers {

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "SGD";

  template <class O = SGDOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::momentum>("Fraction of the last step that the next one keeps, from 0 to 1."),
        option<&O::nesterov>("Whether Nesterov momentum is used."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};
struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.99;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "lion";

  template <class O = LionOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::beta_1>("Decay of the average of the gradients, from 0 to 1."),
        option<&O::beta_2>("Decay of the stored average, from 0 to 1."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};

// Each throws Error(value) for a momentum or beta outside [0, 1].

/// v = momentum v - lr g; w += v, or with Nesterov w += momentum v - lr g (O-1).
struct SGD {
  static constexpr ClassText about{"SGD", "Gradient descent, with optional momentum."};
  static OptimizerPtr make(const SGDOptions& options);
};
inline constexpr Factory<SGD> sgd;

/// w -= lr sign(beta_1 m + (1 - beta_1) g), then m = beta_2 m + (1 - beta_2) g (O-10). Also throws Error(value) for a
/// beta_1 of 0. Source: arXiv 2302.06675.
struct Lion {
  static constexpr ClassText about{"Lion", "Steps by the sign of the averaged gradient."};
  static OptimizerPtr make(const LionOptions& options);
};
inline constexpr Factory<Lion> lion;

}  // namespace etude::optimizers
