#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/optimizers/given_gradients.hpp"
#include "etude/training/detail/step_function.hpp"
#include "etude/training/model.hpp"

// The train step of a model whose variables another process updates.

namespace etude {

/// A train step whose outputs are the gradients of the variables that it lists in `given`.
StepResult Model::trace_gradients(const StepData& data, std::vector<Variable>& given) {
  GivenGradients collected;  // the optimizer appends to it
  StepResult result{train_step(data), {}};
  given.clear();
  for (const auto& [optimizer, variable, gradient] : collected.entries) {
    check(optimizer == optimizer_.get(), ErrorKind::value, strategy()->name(),
          "a step with a second optimizer - expected that of compile(), which the parameter servers have - apply only "
          "model.optimizer().");
    check(std::ranges::find(given, variable) == given.end(), ErrorKind::value, strategy()->name(),
          "two gradients of \"", variable.name(), "\" in a step - expected one - apply the sum of both.");
    given.push_back(variable);
    result.outputs.push_back(gradient);
  }
  return result;
}

}  // namespace etude
