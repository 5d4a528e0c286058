#pragma once

#include <functional>
#include <memory>

#include "etude/callbacks/output.hpp"
#include "etude/training/callback.hpp"

namespace etude {

/// The learning rate of an epoch, from its index and the rate so far.
using EpochSchedule = std::function<double(int epoch, double learning_rate)>;

struct LearningRateSchedulerOptions {
  EpochSchedule schedule = {};
  /// 1: says which rate it sets.
  int verbose = 0;
  /// Where messages go; stdout if empty.
  TextSink print = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("schedule", self.schedule);
    visit("verbose", self.verbose);
  }
};

/// Sets the learning rate at the beginning of each epoch, and writes it into the epoch's logs as "learning_rate" (C-7).
/// Source: keras/src/callbacks/learning_rate_scheduler.py.
class LearningRateScheduler : public Callback {
 public:
  /// Throws Error(value) without a schedule.
  explicit LearningRateScheduler(LearningRateSchedulerOptions options);

  /// Throws what the optimizer does where the rate is none.
  void on_epoch_begin(int epoch, Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;

 private:
  LearningRateSchedulerOptions options_;
};

namespace callbacks {

inline std::shared_ptr<LearningRateScheduler> learning_rate_scheduler(LearningRateSchedulerOptions options) {
  return std::make_shared<LearningRateScheduler>(std::move(options));
}

}  // namespace callbacks
}  // namespace etude
