#pragma once

#include <chrono>
#include <cstdint>

namespace etude {

/// Seconds on a monotonic clock; only differences are meaningful.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Milliseconds since 1970 by the system's clock, as in JavaScript's Date.now().
inline std::int64_t wall_milliseconds() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Waits until wall_milliseconds() changes. Stops after a while if the clock stands still, such as the fake clock of a
/// test.
inline void wait_for_next_millisecond() {
  constexpr int most_looks = 10'000'000;
  const std::int64_t before = wall_milliseconds();
  for (int i = 0; i < most_looks && wall_milliseconds() == before; ++i) continue;
}

}  // namespace etude
