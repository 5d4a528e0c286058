#include "etude/callbacks/learning_rate_scheduler.hpp"

#include "etude/base/error.hpp"
#include "etude/training/model.hpp"

namespace etude {

LearningRateScheduler::LearningRateScheduler(LearningRateSchedulerOptions options) : options_(std::move(options)) {
  check(static_cast<bool>(options_.schedule), ErrorKind::value, "LearningRateScheduler",
        "no schedule - expected a function of the epoch and the learning rate - pass one.");
}

void LearningRateScheduler::on_epoch_begin(int epoch, Logs&) {
  Optimizer& optimizer = model().optimizer();
  const double rate = options_.schedule(epoch, optimizer.learning_rate());
  optimizer.set_learning_rate(rate);
  if (options_.verbose > 0)
    print_message(options_.print, "\nEpoch " + std::to_string(epoch + 1) +
                                      ": LearningRateScheduler setting learning rate to " + shortest(rate) + '.');
}

void LearningRateScheduler::on_epoch_end(int, Logs& logs) {
  logs.set("learning_rate", model().optimizer().learning_rate());
}

}  // namespace etude
