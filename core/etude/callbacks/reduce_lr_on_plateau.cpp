#include "etude/callbacks/reduce_lr_on_plateau.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/callbacks/detail/learning_rates.hpp"
#include "etude/training/model.hpp"

namespace etude {

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : MonitorCallback("ReduceLROnPlateau", options.monitor, options.mode, options.min_delta, options.warn),
      options_(std::move(options)) {
  check(options_.factor < 1, ErrorKind::value, "ReduceLROnPlateau", "factor = ", options_.factor,
        " - expected less than 1, the factor of the learning rate - pass a smaller one.");
}

void ReduceLROnPlateau::on_train_begin(Logs&) {
  restart();
  wait_ = cooldown_left_ = 0;
}

void ReduceLROnPlateau::on_epoch_end(int epoch, Logs& logs) {
  direction(logs);
  log_learning_rates(model().optimizer(), logs);
  const auto current = monitored(logs, "Learning rate reduction is conditioned on metric");
  if (!current) return;
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    wait_ = 0;
  }
  if (is_improvement(*current, best())) {
    set_best(*current);
    wait_ = 0;
  } else if (cooldown_left_ == 0 && ++wait_ >= options_.patience) {
    reduce(epoch);
  }
}

void ReduceLROnPlateau::reduce(int epoch) {
  // The optimizer rounds the rate to float32; compare with min_lr rounded in the same way.
  const double least = static_cast<double>(static_cast<float>(options_.min_lr));
  for (const RatedOptimizer& each : rated_optimizers(model().optimizer())) {
    const double before = each.optimizer->learning_rate();
    if (before <= least) continue;
    const double reduced = std::max(before * options_.factor, options_.min_lr);
    each.optimizer->set_learning_rate(reduced);
    if (options_.verbose > 0)
      print_message(options_.print, "\nEpoch " + std::to_string(epoch + 1) + ": ReduceLROnPlateau reducing " +
                                        each.rate_in_words() + " to " + shortest(reduced) + '.');
    cooldown_left_ = options_.cooldown;
    wait_ = 0;
  }
}

CallbackState ReduceLROnPlateau::state() const {
  CallbackState state("ReduceLROnPlateau");
  state.set("wait", wait_);
  state.set("cooldown_left", cooldown_left_);
  state.set("best", best());
  return state;
}

void ReduceLROnPlateau::restore(const CallbackState& state) {
  wait_ = static_cast<int>(state.number("wait"));
  cooldown_left_ = static_cast<int>(state.number("cooldown_left"));
  set_best(state.number_if("best"));
}

}  // namespace etude
