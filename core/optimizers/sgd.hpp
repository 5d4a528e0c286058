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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("momentum", self.momentum);
    visit("nesterov", self.nesterov);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("beta_1", self.beta_1);
    visit("beta_2", self.beta_2);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
  }
};

// Each throws Error(value) for a momentum or beta outside [0, 1].

/// v = momentum v - lr g; w += v, or with Nesterov w += momentum v - lr g (O-1).
OptimizerPtr sgd(SGDOptions options = {});
/// w -= lr sign(beta_1 m + (1 - beta_1) g), then m = beta_2 m + (1 - beta_2) g (O-10). Throws Error(value) for a beta_1
/// of 0 too. Source: arXiv 2302.06675.
OptimizerPtr lion(LionOptions options = {});

}  // namespace etude::optimizers
