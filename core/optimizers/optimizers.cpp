#include "etude/optimizers/optimizers.hpp"

namespace etude::optimizers {

OptimizerPtr get(const Choice<Optimizer>& choice) {
  return choice.object() ? choice.object() : make(choice.name(), [](const char*, auto&) {});
}

OptimizerPtr loss_scale_optimizer(LossScaleOptimizerOptions options) {
  check(!options.inner_optimizer.empty(), ErrorKind::value, "LossScaleOptimizer",
        "no inner_optimizer - expected the optimizer that takes the steps - set inner_optimizer.");
  OptimizerPtr optimizer = get(options.inner_optimizer);
  optimizer->scale_loss_dynamically(options.initial_scale, options.dynamic_growth_steps);
  return optimizer;
}

}  // namespace etude::optimizers
