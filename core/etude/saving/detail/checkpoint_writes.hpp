#pragma once

#include <cstdint>

namespace etude {

/// The number of checkpoints, models and weight files that this process has written so far, on any thread, and the time
/// that took. Failed writes do not count.
struct CheckpointWrites {
  std::int64_t count = 0;
  double milliseconds = 0;
};
CheckpointWrites checkpoint_writes();

/// Counts a write that takes as long as this object exists.
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
