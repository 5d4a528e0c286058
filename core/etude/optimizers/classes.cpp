#include "etude/classes/class_table.hpp"
#include "etude/optimizers/optimizers.hpp"

namespace etude {

template <> ClassTable& class_table<Optimizer>() {
  static ClassTable table("optimizer", optimizers::Optimizers::entries);
  return table;
}

template <> ClassTable& class_table<LearningRateSchedule>() {
  static ClassTable table("schedule", schedules::Schedules::entries);
  return table;
}

}  // namespace etude
