#include "etude/training/training.hpp"

#include <utility>

#include "etude/training/model.hpp"

namespace etude {

Training::Training(Model& model, DataHandler& data, const CallbackList& callbacks)
    : model_(model), data_(data), callbacks_(callbacks.callbacks()), step_(model.make_train_function()) {
  model_.training_ = this;
}

Training::~Training() {
  model_.training_ = nullptr;
  for (const CallbackPtr& callback : callbacks_) callback->release();
}

void Training::retrace() {
  step_ = model_.make_train_function(true);
  model_.make_test_function(true);
}

Task<> Training::prepare() {
  if (step_->traced()) co_return;
  if (PendingPtr pending = data_.adapter().fetch()) co_await std::move(pending);
  if (const Batch* example = data_.adapter().peek()) step_->rehearse(*example);
}

DataState Training::validation_state() const {
  const bool once = validation_ && validation_->adapter().passes() == Passes::one;
  return once ? validation_->adapter().state() : validation_state_;
}

void Training::set_validation(DataHandler& data) {
  validation_ = &data;
  const DataState state = std::exchange(validation_state_, {});
  if (!state.empty()) data.go_on_from(state);
}

}  // namespace etude
