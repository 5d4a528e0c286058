#include "etude/callbacks/early_stopping.hpp"

#include "etude/training/model.hpp"

namespace etude {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : MonitorCallback("EarlyStopping", options.monitor, options.mode, options.min_delta, options.warn),
      options_(std::move(options)) {}

void EarlyStopping::on_train_begin(Logs&) {
  restart();
  wait_ = stopped_epoch_ = best_epoch_ = 0;
  best_weights_.clear();
}

void EarlyStopping::on_epoch_end(int epoch, Logs& logs) {
  direction(logs);
  const auto current = monitored(logs, "Early stopping conditioned on metric");
  if (!current || epoch < options_.start_from_epoch) return;
  const bool improved = is_improvement(*current, best());
  if (improved) {
    set_best(*current);
    best_epoch_ = epoch;
    if (options_.restore_best_weights) best_weights_ = model().get_weights();
  }
  ++wait_;
  if (improved) {
    // Patience is reset only if the baseline is exceeded too.
    if (!options_.baseline || is_improvement(*current, options_.baseline)) wait_ = 0;
  } else if (wait_ >= options_.patience && epoch > 0) {
    stopped_epoch_ = epoch;
    model().stop_training = true;
  }
}

void EarlyStopping::on_train_end(Logs&) {
  if (stopped_epoch_ > 0 && options_.verbose > 0)
    print_message(options_.print, "Epoch " + std::to_string(stopped_epoch_ + 1) + ": early stopping");
  if (best_weights_.empty()) return;
  if (options_.verbose > 0)
    print_message(options_.print,
                  "Restoring model weights from the end of the best epoch: " + std::to_string(best_epoch_ + 1) + '.');
  model().set_weights(best_weights_);
  best_weights_.clear();
}

CallbackState EarlyStopping::state() const {
  CallbackState state("EarlyStopping");
  state.set("wait", wait_);
  state.set("stopped_epoch", stopped_epoch_);
  state.set("best_epoch", best_epoch_);
  state.set("best", best());
  state.set("best_weights", best_weights_);
  return state;
}

void EarlyStopping::restore(const CallbackState& state) {
  wait_ = static_cast<int>(state.number("wait"));
  stopped_epoch_ = static_cast<int>(state.number("stopped_epoch"));
  best_epoch_ = static_cast<int>(state.number("best_epoch"));
  set_best(state.number_if("best"));
  best_weights_ = state.tensors("best_weights");
  if (stopped_epoch_ > 0) model().stop_training = true;
}

}  // namespace etude
