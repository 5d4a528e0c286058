#include "etude/training/detail/training.hpp"

#include <utility>

namespace etude {

Training::Training(LoopModel& model, DataHandler& data, const CallbackList& callbacks)
    : model_(model), data_(data), callbacks_(callbacks.callbacks()), step_(model.train_function()) {
  model_.running.training = this;
}

Training::~Training() {
  model_.running.training = nullptr;
  for (const CallbackPtr& callback : callbacks_) callback->release();
}

void Training::retrace() {
  step_ = model_.train_function(true);
  model_.test_function(true);
}

Task<> Training::prepare() {
  if (step_->traced()) co_return;
  if (PendingPtr pending = data_.adapter().fetch()) co_await std::move(pending);
  if (const Batch* example = data_.adapter().peek()) step_->rehearse(*example);
}

void Training::place_variables() {
  std::vector<Variable> all = model_.all_variables();
  all.insert(all.end(), step_->variables().begin(), step_->variables().end());
  model_.strategy().place(all);
}

DataState Training::validation_state() const {
  const bool once = validation_ && validation_->adapter().passes() == Passes::one;
  return once ? validation_->adapter().state() : validation_state_;
}

void Training::restore_validation(DataState state) {
  validation_ = nullptr;
  validation_state_ = std::move(state);
}

void Training::set_validation(DataHandler& data) {
  validation_ = &data;
  const DataState state = std::exchange(validation_state_, {});
  if (!state.empty()) data.continue_from(state);
}

}  // namespace etude
