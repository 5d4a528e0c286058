#pragma once

#include <optional>

namespace etude {

/// What this process uses.
struct ProcessUsage {
  /// Its resident memory, in bytes.
  double memory = 0;
  /// The time of all its threads on processors so far, in seconds.
  double processor_seconds = 0;
};

/// Empty where the system does not tell: other systems than Linux.
std::optional<ProcessUsage> process_usage();

}  // namespace etude
