#pragma once

#include <chrono>

namespace etude {

/// Seconds on a clock that only goes forwards; what counts is the difference between two of them.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace etude
