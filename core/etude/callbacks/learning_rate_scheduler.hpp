#pragma once

#include <functional>
#include <memory>

#include "etude/callbacks/detail/output.hpp"
#include "etude/training/callback.hpp"

namespace etude {

/// Computes the learning rate of an epoch from its index and the current rate.
using EpochSchedule = std::function<double(int epoch, double learning_rate)>;

struct LearningRateSchedulerOptions {
  EpochSchedule schedule = {};
  /// 1: prints the rate.
  int verbose = 0;
  /// The receiver of messages; stdout if empty.
  TextSink print = {};

  template <class O = LearningRateSchedulerOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::schedule>("Function of the epoch and the learning rate that returns the new learning rate.",
                             Need::required),
        option<&O::verbose>("1: prints the learning rate of each epoch."));
  }
};

/// Sets the learning rate at the beginning of each epoch, and writes it into the epoch's logs as "learning_rate" (C-7).
/// Of a MultiOptimizer it sets and logs the rate of each optimizer. Source:
/// keras/src/callbacks/learning_rate_scheduler.py.
class LearningRateScheduler : public Callback {
 public:
  using Options = LearningRateSchedulerOptions;
  static constexpr ClassText about{"LearningRateScheduler", "Sets the learning rate before each epoch."};
  /// Throws Error(value) if there is no schedule.
  explicit LearningRateScheduler(LearningRateSchedulerOptions options);

  Needs needs(Hook hook) const override {
    return hook == Hook::epoch_begin || hook == Hook::epoch_end ? Needs::variables : Needs::nothing;
  }
  /// Throws the optimizer's Error for an invalid rate.
  void on_epoch_begin(int epoch, Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;

 private:
  LearningRateSchedulerOptions options_;
};

namespace callbacks {

inline constexpr Factory<LearningRateScheduler> learning_rate_scheduler;

}  // namespace callbacks
}  // namespace etude
