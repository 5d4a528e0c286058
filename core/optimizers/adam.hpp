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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("beta_1", self.beta_1);
    visit("beta_2", self.beta_2);
    visit("epsilon", self.epsilon);
    visit("amsgrad", self.amsgrad);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("weight_decay", self.weight_decay);
    visit("beta_1", self.beta_1);
    visit("beta_2", self.beta_2);
    visit("epsilon", self.epsilon);
    visit("amsgrad", self.amsgrad);
    visit_shared_fields(self, visit);
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("beta_1", self.beta_1);
    visit("beta_2", self.beta_2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
  }
};
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("beta_1", self.beta_1);
    visit("beta_2", self.beta_2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
  }
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

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("learning_rate", self.learning_rate);
    visit("beta_1", self.beta_1);
    visit("beta_2", self.beta_2);
    visit("epsilon", self.epsilon);
    visit("weight_decay", self.weight_decay);
    visit_shared_fields(self, visit);
  }
};

// Of m, the average of the gradients, and v, that of their squares. Each throws Error(value) for a beta outside [0, 1]
// and for an epsilon below 0 or not finite.

/// Adam with "epsilon hat" (O-3).
OptimizerPtr adam(AdamOptions options = {});
/// Adam with weight decay (O-4).
OptimizerPtr adamw(AdamWOptions options = {});
/// v is the largest gradient, which fades by beta_2 (O-5).
OptimizerPtr adamax(AdamaxOptions options = {});
/// Adam with Nesterov momentum (O-6). Source: Dozat 2015.
OptimizerPtr nadam(NadamOptions options = {});
/// Adam whose step of each variable is as long as lr times the variable (O-11). Source: arXiv 1904.00962.
OptimizerPtr lamb(LambOptions options = {});

}  // namespace etude::optimizers
