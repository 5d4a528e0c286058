#include "etude/callbacks/swap_ema_weights.hpp"

#include <exception>

#include "etude/base/error.hpp"
#include "etude/training/detail/compiled_trainable.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

std::vector<Variable> trained_variables(const Model& model) {
  const CompiledTrainable trainable(model.compiled_trainable());
  return model.trainable_variables();
}

}  // namespace

void SwapEMAWeights::on_epoch_begin(int, Logs&) { put_weights(); }

void SwapEMAWeights::on_epoch_end(int, Logs&) {
  if (options_.swap_on_epoch) put_averages();
}

void SwapEMAWeights::put_averages() {
  if (!weights_.empty()) return;
  check(model().optimizer().use_ema(), ErrorKind::state, "SwapEMAWeights", "the optimizer \"",
        model().optimizer().name(),
        "\" keeps no averages - expected an optimizer with {.use_ema = true} - set it, or omit the callback.");
  variables_ = trained_variables(model());
  for (const Variable& variable : variables_) weights_.push_back(variable.value());
  model().optimizer().finalize_variable_values(variables_);
}

void SwapEMAWeights::put_weights() {
  for (std::size_t i = 0; i < weights_.size(); ++i) variables_[i].assign(weights_[i]);
  forget();
}

void SwapEMAWeights::forget() {
  variables_.clear();
  weights_.clear();
}

void SwapEMAWeights::release() noexcept {
  try {
    put_weights();
  } catch (const std::exception&) {
    forget();  // a device that failed
  }
}

CallbackState SwapEMAWeights::state() const {
  CallbackState state("SwapEMAWeights");
  state.set("swapped", weights_.empty() ? 0 : 1);
  state.set("weights", weights_);
  return state;
}

void SwapEMAWeights::restore(const CallbackState& state) {
  weights_ = state.tensors("weights");
  variables_ = weights_.empty() ? std::vector<Variable>() : trained_variables(model());
  check(variables_.size() == weights_.size(), ErrorKind::state, "SwapEMAWeights", variables_.size(),
        " trainable variables instead of ", weights_.size(),
        " - expected the same variables - create the model as before the interruption.");
}

}  // namespace etude
