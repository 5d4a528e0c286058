#pragma once

#include "etude/optimizers/optimizer.hpp"

namespace etude::optimizers {

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "adam";

  template <class O = AdamOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::beta_1>("Decay of the average of the gradients, from 0 to 1."),
        option<&O::beta_2>("Decay of the average of their squares, from 0 to 1."),
        option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::amsgrad>("Whether the largest average of squares so far is used."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};
struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  std::optional<double> clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "adamw";

  template <class O = AdamWOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        option<&O::beta_1>("Decay of the average of the gradients, from 0 to 1."),
        option<&O::beta_2>("Decay of the average of their squares, from 0 to 1."),
        option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::amsgrad>("Whether the largest average of squares so far is used."), optimizer_fields<O>());
  }
};
struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "adamax";

  template <class O = AdamaxOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::learning_rate>("Length of a step: a number or a schedule."),
        option<&O::beta_1>("Decay of the average of the gradients, from 0 to 1."),
        option<&O::beta_2>("Decay of the largest gradient, from 0 to 1."),
        option<&O::epsilon>("Small number that avoids a division by 0."),
        option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
        optimizer_fields<O>());
  }
};
/// The options of optimizers whose steps depend on both averages, and have no others.
template <class O> constexpr auto moment_fields() {
  return option_rows(
      option<&O::learning_rate>("Length of a step: a number or a schedule."),
      option<&O::beta_1>("Decay of the average of the gradients, from 0 to 1."),
      option<&O::beta_2>("Decay of the average of their squares, from 0 to 1."),
      option<&O::epsilon>("Small number that avoids a division by 0."),
      option<&O::weight_decay>("Fraction of each variable that a step subtracts, times the learning rate."),
      optimizer_fields<O>());
}

struct NadamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "nadam";

  template <class O = NadamOptions> static constexpr auto fields() { return moment_fields<O>(); }
};
struct LambOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  std::optional<double> weight_decay = {}, clipnorm = {}, clipvalue = {}, global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<std::int64_t> gradient_accumulation_steps = {};
  std::string name = "lamb";

  template <class O = LambOptions> static constexpr auto fields() { return moment_fields<O>(); }
};

// Steps by m, the average of the gradients, and v, that of their squares. Each throws Error(value) for a beta outside
// [0, 1] and for an epsilon that is negative or not finite.

/// Adam with "epsilon hat" (O-3).
struct Adam {
  static constexpr ClassText about{"Adam", "Steps by averages of the gradients and of their squares."};
  static OptimizerPtr make(const AdamOptions& options);
};
inline constexpr Factory<Adam> adam;

/// Adam with weight decay (O-4).
struct AdamW {
  static constexpr ClassText about{.name = "AdamW", .text = "Adam with decoupled weight decay.", .factory = "adamw"};
  static OptimizerPtr make(const AdamWOptions& options);
};
inline constexpr Factory<AdamW> adamw;

/// v is the largest gradient, which decays by beta_2 (O-5).
struct Adamax {
  static constexpr ClassText about{"Adamax", "Adam by the largest gradient instead of the squares."};
  static OptimizerPtr make(const AdamaxOptions& options);
};
inline constexpr Factory<Adamax> adamax;

/// Adam with Nesterov momentum (O-6). Source: Dozat 2015.
struct Nadam {
  static constexpr ClassText about{"Nadam", "Adam with Nesterov momentum."};
  static OptimizerPtr make(const NadamOptions& options);
};
inline constexpr Factory<Nadam> nadam;

/// Adam with steps of the length lr times the variable's norm (O-11). Source: arXiv 1904.00962.
struct Lamb {
  static constexpr ClassText about{"Lamb", "Adam with steps proportional to each variable's norm: for large batches."};
  static OptimizerPtr make(const LambOptions& options);
};
inline constexpr Factory<Lamb> lamb;

}  // namespace etude::optimizers
