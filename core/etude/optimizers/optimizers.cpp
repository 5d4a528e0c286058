#include "etude/optimizers/optimizers.hpp"

#include "etude/classes/class_table.hpp"

namespace etude::optimizers {

OptimizerPtr get(const Choice<Optimizer>& choice) {
  return choice.object() ? choice.object() : make_of<Optimizer>(class_table<Optimizer>().named(choice.name()));
}

OptimizerPtr LossScaleOptimizer::make(const LossScaleOptimizerOptions& options) {
  check(!options.inner_optimizer.empty(), ErrorKind::value, "LossScaleOptimizer",
        "no inner_optimizer - expected the optimizer that updates the variables - set inner_optimizer.");
  OptimizerPtr optimizer = get(options.inner_optimizer);
  optimizer->scale_loss_dynamically(options.initial_scale, options.dynamic_growth_steps);
  return optimizer;
}

}  // namespace etude::optimizers
