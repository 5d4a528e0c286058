#include "gloo/state_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "etude/distribute/workers.hpp"
#include "etude/training/detail/training.hpp"
#include "etude/training/model.hpp"

namespace etude {

/// A process that joins later is alone until then: it has all variables before.
void StateKeeper::on_train_begin(Logs&) { pending_ = started(place()); }

Task<> StateKeeper::place() {
  co_await model().training()->prepare();
  model().training()->place_variables();
}

void StateKeeper::on_epoch_begin(int, Logs&) {
  Training& training = *model().training();
  // Undoes repeated changes of other callbacks' on_epoch_begin.
  if (std::exchange(rewinding_, false)) {
    if (training.resumed.within_epoch) restore_values(training, kept_.back().state);
  } else if (kept_.empty()) {
    keep(TrainingMoment::execution_end, training.resumed.logs);
  }
}

void StateKeeper::on_train_batch_end(std::int64_t, Logs& logs) {
  keep(TrainingMoment::execution_end, logs);
  watch();
}

void StateKeeper::on_epoch_end(int, Logs& logs) {
  keep(TrainingMoment::epoch_end, logs);
  watch();
}

void StateKeeper::watch() { model().strategy()->others()->watch("fit", std::chrono::steady_clock::now()); }

void StateKeeper::keep(TrainingMoment moment, const Logs& logs) {
  ++number_;
  stopped_ = model().stop_training;
  add(number_, training_state(*model().training(), moment, logs));
}

void StateKeeper::add(std::int64_t number, Checkpoint state) {
  kept_.push_back({number, std::move(state)});
  if (kept_.size() > 2) kept_.pop_front();
}

const Checkpoint* StateKeeper::find(std::int64_t number) const {
  const auto found = std::ranges::find(kept_, number, &Kept::number);
  return found == kept_.end() ? nullptr : &found->state;
}

void StateKeeper::forget_after(std::int64_t number) {
  std::erase_if(kept_, [&](const Kept& one) { return one.number > number; });
}

Task<> StateKeeper::rewind(Training& training, std::int64_t number) {
  std::erase_if(kept_, [&](const Kept& one) { return one.number != number; });
  training.model().stop_training = false;
  training.resumed = {};
  for (const CallbackPtr& callback : training.callbacks()) callback->on_members_change();
  co_await resume_training(training, kept_.back().state);
  rewinding_ = true;
}

CallbackState StateKeeper::state() const {
  CallbackState state("StateKeeper");
  state.set("number", static_cast<double>(number_));
  state.set("stopped", stopped_ ? 1.0 : 0.0);
  return state;
}

void StateKeeper::restore(const CallbackState& state) {
  number_ = static_cast<std::int64_t>(state.number("number"));
  stopped_ = state.number("stopped") != 0;
  model().stop_training = stopped_;
}

}  // namespace etude
