#pragma once

#include "etude/optimizers/optimizer.hpp"

namespace etude::optimizers {

struct ScheduleFreeAdamWOptions {
  LearningRate learning_rate = 0.0025;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8;
  std::int64_t warmup_steps = 0;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "schedule_free_adamw";

  template <class O = ScheduleFreeAdamWOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::beta_1>("Share of the average in the variables, above 0 and up to 1."),
        option<&O::beta_2>("Decay of the average of squares of gradients, from 0 to 1."),
        option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::warmup_steps>("Steps over which the learning rate grows to its value."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};

/// Adam without a schedule: z steps by g / (sqrt(v) + epsilon), x is the average of all z so far, and the variable is
/// beta_1 x + (1 - beta_1) z. As in Keras, evaluation uses the variable, not x (O-22). Throws Error(value) for a beta_1
/// outside (0, 1], a beta_2 outside [0, 1], an epsilon that is negative or not finite, and warmup_steps below 0.
/// Source: arXiv 2405.15682; keras/src/optimizers/schedule_free_adamw.py.
struct ScheduleFreeAdamW {
  static constexpr ClassText about{.name = "ScheduleFreeAdamW",
                                   .text = "Adam by an average of all its steps, in place of a schedule.",
                                   .factory = "schedule_free_adamw"};
  static OptimizerPtr make(const ScheduleFreeAdamWOptions& options);
};
inline constexpr Factory<ScheduleFreeAdamW> schedule_free_adamw;

}  // namespace etude::optimizers
