#pragma once

#include <optional>

namespace etude {

/// The resources that this process uses.
struct ProcessUsage {
  /// Its resident memory, in bytes.
  double memory = 0;
  /// The time of all its threads on processors so far, in seconds.
  double processor_seconds = 0;
};

/// Empty on systems other than Linux.
std::optional<ProcessUsage> process_usage();

}  // namespace etude
