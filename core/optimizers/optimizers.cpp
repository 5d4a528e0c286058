#include "etude/optimizers/optimizers.hpp"

namespace etude::optimizers {

OptimizerPtr get(const Choice<Optimizer>& choice) {
  return choice.object() ? choice.object() : make(choice.name(), [](const char*, auto&) {});
}

}  // namespace etude::optimizers
