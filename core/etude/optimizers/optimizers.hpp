#pragma once

#include "etude/optimizers/adafactor.hpp"
#include "etude/optimizers/adagrad.hpp"
#include "etude/optimizers/adam.hpp"
#include "etude/optimizers/multi_optimizer.hpp"
#include "etude/optimizers/muon.hpp"
#include "etude/optimizers/schedule_free.hpp"
#include "etude/optimizers/schedules.hpp"
#include "etude/optimizers/sgd.hpp"

namespace etude::optimizers {

struct LossScaleOptimizerOptions {
  Choice<Optimizer> inner_optimizer = {};  ///< Required.
  double initial_scale = 32768;
  std::int64_t dynamic_growth_steps = 2000;  ///< finite steps before the scale doubles
  std::string name = {};                     ///< Has no effect.

  template <class O = LossScaleOptimizerOptions> static constexpr auto fields() {
    return option_rows(option<&O::inner_optimizer>("Optimizer that updates the variables.", Need::required),
                       option<&O::initial_scale>("Initial factor of the loss."),
                       option<&O::dynamic_growth_steps>("Steps with finite gradients after which the factor doubles."),
                       option<&O::name>("Accepted, because configs of Keras have it: the optimizer keeps the "
                                        "name of the inner one."));
  }
};
/// The inner optimizer, which then scales the loss for gradients in float16 (LossScale). compile() does that
/// automatically if a model computes in float16. Throws Error(value) without an inner optimizer.
struct LossScaleOptimizer {
  static constexpr ClassText about{.name = "LossScaleOptimizer",
                                   .text = "Scales the loss of an inner optimizer, for gradients in float16.",
                                   .example = R"({"inner_optimizer": "adam", "initial_scale": 8.0})"};
  static OptimizerPtr make(const LossScaleOptimizerOptions& options);
  /// `make` returns the inner optimizer.
  static constexpr bool passes_on = true;
};
inline constexpr Factory<LossScaleOptimizer> loss_scale_optimizer;

/// The families of optimizers. To add an optimizer, add it here.
using Optimizers = ClassList<SGD, RMSprop, Adam, AdamW, Adamax, Nadam, Adagrad, Adadelta, Adafactor, Ftrl, Lion, Lamb,
                             Muon, ScheduleFreeAdamW, MultiOptimizer, LossScaleOptimizer>;

}  // namespace etude::optimizers
