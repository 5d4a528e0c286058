#pragma once

#include <cstdint>

namespace etude {

/// Checkpoints, models and files of weights that this process has written so far, on whatever thread, and how long that
/// took. Those that failed do not count.
struct CheckpointWrites {
  std::int64_t count = 0;
  double milliseconds = 0;
};
CheckpointWrites checkpoint_writes();

/// Counts a write that lasts as long as this.
class CheckpointWriteTimer {
 public:
  CheckpointWriteTimer();
  ~CheckpointWriteTimer();
  CheckpointWriteTimer(const CheckpointWriteTimer&) = delete;
  CheckpointWriteTimer& operator=(const CheckpointWriteTimer&) = delete;

 private:
  const double began_;
  const int exceptions_;
};

}  // namespace etude
