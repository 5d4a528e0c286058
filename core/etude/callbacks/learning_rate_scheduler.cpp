#include "etude/callbacks/learning_rate_scheduler.hpp"

#include "etude/base/error.hpp"
#include "etude/callbacks/detail/learning_rates.hpp"
#include "etude/training/model.hpp"

namespace etude {

LearningRateScheduler::LearningRateScheduler(LearningRateSchedulerOptions options) : options_(std::move(options)) {
  check(static_cast<bool>(options_.schedule), ErrorKind::value, "LearningRateScheduler",
        "no schedule - expected a function of the epoch and the learning rate - pass one.");
}

void LearningRateScheduler::on_epoch_begin(int epoch, Logs&) {
  for (const RatedOptimizer& each : rated_optimizers(model().optimizer())) {
    const double rate = options_.schedule(epoch, each.optimizer->learning_rate());
    each.optimizer->set_learning_rate(rate);
    if (options_.verbose > 0)
      print_message(options_.print, "\nEpoch " + std::to_string(epoch + 1) + ": LearningRateScheduler setting " +
                                        each.rate_in_words() + " to " + shortest(rate) + '.');
  }
}

void LearningRateScheduler::on_epoch_end(int, Logs& logs) { log_learning_rates(model().optimizer(), logs); }

}  // namespace etude
