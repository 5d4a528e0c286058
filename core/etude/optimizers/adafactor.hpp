#pragma once

#include "etude/optimizers/optimizer.hpp"

namespace etude::optimizers {

struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30, epsilon_2 = 1e-3, clip_threshold = 1;
  bool relative_step = true;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "adafactor";

  template <class O = AdafactorOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step, relative to the variable: a number or a schedule."),
        option<&O::beta_2_decay>("Exponent of t, below 0, in the share of a new square in the averages."),
        option<&O::epsilon_1>("Small number that is added to squares."),
        option<&O::epsilon_2>("Least root mean square of a variable by which a step is multiplied."),
        option<&O::clip_threshold>("Root mean square to which larger steps are reduced."),
        option<&O::relative_step>("As in Keras without effect: the learning rate is at most 1 / sqrt(t)."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};

/// Adam without the average of the gradients, which keeps only the means over rows and over columns of the averages of
/// squares of a matrix: of the last two axes, if there are more. The length of a step is min(lr, 1 / sqrt(t)) times the
/// variable's root mean square (O-11). Throws Error(value) for an epsilon that is negative or not finite, a
/// clip_threshold that is not above 0, and a beta_2_decay above 0. Source: arXiv 1804.04235;
/// keras/src/optimizers/adafactor.py.
struct Adafactor {
  static constexpr ClassText about{"Adafactor", "Steps by the squares of gradients, with little memory for matrices."};
  static OptimizerPtr make(const AdafactorOptions& options);
};
inline constexpr Factory<Adafactor> adafactor;

}  // namespace etude::optimizers
