#include "etude/callbacks/swap_ema_weights.hpp"

#include "etude/base/error.hpp"
#include "etude/training/model.hpp"

namespace etude {

void SwapEMAWeights::on_epoch_begin(int, Logs&) { put_weights(); }

void SwapEMAWeights::on_epoch_end(int, Logs&) {
  if (options_.swap_on_epoch) put_averages();
}

void SwapEMAWeights::put_averages() {
  if (!weights_.empty()) return;
  check(model().optimizer().use_ema(), ErrorKind::state, "SwapEMAWeights", "the optimizer \"",
        model().optimizer().name(),
        "\" keeps no averages - expected an optimizer with {.use_ema = true} - set it, or omit the callback.");
  const std::vector<Variable> variables = model().trainable_variables();
  for (const Variable& variable : variables) weights_.push_back(variable.value());
  model().optimizer().finalize_variable_values(variables);
}

void SwapEMAWeights::put_weights() {
  if (weights_.empty()) return;
  std::vector<Variable> variables = model().trainable_variables();
  check(variables.size() == weights_.size(), ErrorKind::state, "SwapEMAWeights", variables.size(),
        " trainable variables instead of ", weights_.size(),
        " - expected the same variables - set trainable before fit.");
  for (std::size_t i = 0; i < variables.size(); ++i) variables[i].assign(weights_[i]);
  weights_.clear();
}

CallbackState SwapEMAWeights::state() const {
  CallbackState state("SwapEMAWeights");
  state.set("swapped", weights_.empty() ? 0 : 1);
  state.set("weights", weights_);
  return state;
}

}  // namespace etude
