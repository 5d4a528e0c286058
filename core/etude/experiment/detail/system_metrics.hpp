#pragma once

#include <optional>

#include "etude/base/logs.hpp"

/// Private to the trial: the load of its machine.
namespace etude::experiment {

/// Counters of the system; those that it does not have are empty.
struct SystemUsage {
  /// The seconds in which processors worked, and all of their seconds.
  std::optional<double> processors_busy = {}, processors_all = {};
  /// The memory of this process, and that of the machine which is free, in bytes.
  std::optional<double> memory = {}, memory_free = {};
  /// The bytes that this process read from disks, and wrote.
  std::optional<double> disk_read = {}, disk_written = {};
  /// The bytes that the machine received from others, and sent.
  std::optional<double> net_received = {}, net_sent = {};
};

/// On Linux from /proc. In JavaScript only the memory of the module.
SystemUsage system_usage();

/// Metrics of the system, at most once in a number of seconds. Source: the profiler of Determined.
class SystemMetrics {
 public:
  /// 0 seconds: none.
  explicit SystemMetrics(double interval) : interval_(interval) {}
  /// If they are due, the use since the last ones: "cpu", from 0 to 1 for all processors; "memory", "memory_free" in
  /// bytes, and "gpu_memory_free" if the default device is a GPU; "disk_read", "disk_written", "net_received",
  /// "net_sent" in bytes a second.
  std::optional<Logs> next();

 private:
  double interval_;
  std::optional<double> time_;  ///< of the last ones
  SystemUsage last_;
};

}  // namespace etude::experiment
