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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("rho", self.rho);
    visit("momentum", self.momentum);
    visit("epsilon", self.epsilon);
    visit("centered", self.centered);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("initial_accumulator_value", self.initial_accumulator_value);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("rho", self.rho);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("learning_rate_power", self.learning_rate_power);
    visit("initial_accumulator_value", self.initial_accumulator_value);
    visit("l1_regularization_strength", self.l1_regularization_strength);
    visit("l2_regularization_strength", self.l2_regularization_strength);
    visit("l2_shrinkage_regularization_strength", self.l2_shrinkage_regularization_strength);
    visit("beta", self.beta);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
  }
};

// Steps in units of what the squares of the gradients have added up to. Each throws Error(value) for a momentum or rho
// outside [0, 1] and for another number below 0 or not finite.

/// s = rho s + (1 - rho) g²; w -= lr g / sqrt(s + epsilon), epsilon inside the root (O-2).
OptimizerPtr rmsprop(RMSpropOptions options = {});
/// s += g²; w -= lr g / sqrt(s + epsilon) (O-7).
OptimizerPtr adagrad(AdagradOptions options = {});
/// w -= lr g sqrt(d + epsilon) / sqrt(s + epsilon), where s and d are averages of the squares of gradients and of what
/// they were made into (O-8). Source: arXiv 1212.5701.
OptimizerPtr adadelta(AdadeltaOptions options = {});
/// "Follow the regularized leader" (O-9); learning_rate_power must be 0 or less. Source: McMahan et al. 2013.
OptimizerPtr ftrl(FtrlOptions options = {});

}  // namespace etude::optimizers
