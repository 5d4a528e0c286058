#pragma once

#include "etude/optimizers/adagrad.hpp"
#include "etude/optimizers/adam.hpp"
#include "etude/optimizers/muon.hpp"
#include "etude/optimizers/schedules.hpp"
#include "etude/optimizers/sgd.hpp"

namespace etude::optimizers {

struct LossScaleOptimizerOptions {
  Choice<Optimizer> inner_optimizer = {};  ///< Required.
  double initial_scale = 32768;
  std::int64_t dynamic_growth_steps = 2000;  ///< that go well before the scale doubles

  static constexpr auto fields() {
    return option_rows(
        option<&LossScaleOptimizerOptions::inner_optimizer>("Optimizer that takes the steps.", Need::required),
        option<&LossScaleOptimizerOptions::initial_scale>("First factor of the loss."),
        option<&LossScaleOptimizerOptions::dynamic_growth_steps>(
            "Steps with finite gradients after which the factor doubles."));
  }
};
/// The inner optimizer, which from now on scales the loss as gradients in float16 want it (LossScale). compile() does
/// that by itself where a model computes in float16. Throws Error(value) without an inner optimizer.
struct LossScaleOptimizer {
  static constexpr ClassText about{.name = "LossScaleOptimizer",
                                   .text = "Scales the loss of an inner optimizer, for gradients in float16.",
                                   .example = R"({"inner_optimizer": "adam", "initial_scale": 8.0})"};
  static OptimizerPtr make(const LossScaleOptimizerOptions& options);
};
inline constexpr Factory<LossScaleOptimizer> loss_scale_optimizer;

/// The families of optimizers. A new optimizer is a line here.
using Optimizers =
    ClassList<SGD, RMSprop, Adam, AdamW, Adamax, Nadam, Adagrad, Adadelta, Ftrl, Lion, Lamb, Muon, LossScaleOptimizer>;

}  // namespace etude::optimizers
