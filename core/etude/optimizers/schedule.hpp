#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// A learning rate as a function of the step. It is traced with its step: nothing is computed on the host, and nothing
/// is traced again when it changes. Source: keras/src/optimizers/schedules/learning_rate_schedule.py.
class LearningRateSchedule : public Described {
 public:
  using Kind = LearningRateSchedule;
  virtual ~LearningRateSchedule() = default;
  /// The rate at `step`, the number of earlier steps, a scalar in a float dtype, which the result has too.
  virtual Value operator()(Value step) const = 0;
  /// The same number on the host, in double precision. Throws Error(value) unless the schedule is written in
  /// elementwise ops, and random draws, of scalars.
  double at(std::int64_t step) const;
};
using LearningRateSchedulePtr = std::shared_ptr<LearningRateSchedule>;

/// The learning_rate of an optimizer: a number, or a schedule.
class LearningRate {
 public:
  /// A constant rate.
  LearningRate(double number) : number_(number) {}
  /// The rate of a schedule at each step.
  template <std::derived_from<LearningRateSchedule> Schedule>
  LearningRate(std::shared_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {
    check(schedule_ != nullptr, ErrorKind::value, "learning_rate",
          "an empty schedule - expected a number or a schedule - create one by schedules::….");
  }

  /// The number, if there is no schedule.
  double number() const { return number_; }
  /// The schedule; empty for a number.
  const LearningRateSchedulePtr& schedule() const { return schedule_; }

 private:
  double number_ = 0;
  LearningRateSchedulePtr schedule_;
};

}  // namespace etude
