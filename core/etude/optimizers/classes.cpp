#include "etude/classes/class_table.hpp"
#include "etude/optimizers/optimizers.hpp"

namespace etude {

template <> const ClassTable& class_table<Optimizer>() {
  static const ClassTable table("optimizer", optimizers::Optimizers::entries);
  return table;
}

template <> const ClassTable& class_table<LearningRateSchedule>() {
  static const ClassTable table("schedule", schedules::Schedules::entries);
  return table;
}

}  // namespace etude
