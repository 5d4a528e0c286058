#include "etude/experiment/detail/system_metrics.hpp"

#include <utility>

#include "etude/base/detail/clock.hpp"
#include "etude/callbacks/detail/process_usage.hpp"
#include "etude/devices/devices.hpp"
#include "etude/execution/device.hpp"

#if defined(__linux__)
#include <array>
#include <cstdio>
#include <memory>
#include <string_view>
#endif

namespace etude::experiment {

#if defined(__linux__)
namespace {

/// Calls visit(line) for each line of a file, if it can be read.
void each_line(const char* path, const auto& visit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "r"), std::fclose);
  std::array<char, 512> line{};
  while (file && std::fgets(line.data(), line.size(), file.get())) visit(line.data());
}

void read_processors(SystemUsage& usage) {
  each_line("/proc/stat", [&](const char* line) {
    if (!std::string_view(line).starts_with("cpu ")) return;  // "cpu0 " is one of them
    // User, nice, system, idle, waits for disks, interrupts (2), stolen: the same unit for all, so only their ratio
    // counts.
    std::array<double, 8> t{};
    if (std::sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
                    &t[7]) != 8)
      return;
    usage.processors_busy = t[0] + t[1] + t[2] + t[5] + t[6] + t[7];
    usage.processors_all = *usage.processors_busy + t[3] + t[4];
  });
}

void read_network(SystemUsage& usage) {
  each_line("/proc/net/dev", [&](const char* line) {
    std::array<char, 64> name{};
    double received = 0, sent = 0;
    if (std::sscanf(line, " %63[^:]: %lf %*s %*s %*s %*s %*s %*s %*s %lf", name.data(), &received, &sent) != 3) return;
    if (std::string_view(name.data()) == "lo") return;
    usage.net_received = usage.net_received.value_or(0) + received;
    usage.net_sent = usage.net_sent.value_or(0) + sent;
  });
}

}  // namespace

SystemUsage system_usage() {
  SystemUsage usage;
  read_processors(usage);
  read_network(usage);
  if (const std::optional<ProcessUsage> own = process_usage()) usage.memory = own->memory;
  double number = 0;
  each_line("/proc/meminfo", [&](const char* line) {
    if (std::sscanf(line, "MemAvailable: %lf", &number) == 1) usage.memory_free = 1024 * number;
  });
  each_line("/proc/self/io", [&](const char* line) {
    if (std::sscanf(line, "read_bytes: %lf", &number) == 1) usage.disk_read = number;
    if (std::sscanf(line, "write_bytes: %lf", &number) == 1) usage.disk_written = number;
  });
  return usage;
}
#elif defined(__wasm__)
SystemUsage system_usage() { return {.memory = 65536.0 * static_cast<double>(__builtin_wasm_memory_size(0))}; }
#else
SystemUsage system_usage() { return {}; }
#endif

std::optional<Logs> SystemMetrics::next() {
  if (interval_ <= 0) return {};
  const double now = monotonic_seconds();
  if (time_ && now < *time_ + interval_) return {};
  const SystemUsage usage = system_usage(), before = std::exchange(last_, usage);
  const std::optional<double> since = std::exchange(time_, now);
  if (!since) return {};  // the first ones are only compared with
  Logs logs;
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) logs.set(name, *value);
  };
  const auto add_rate = [&](const char* name, const std::optional<double>& value, const std::optional<double>& old,
                            double per) {
    if (value && old && per > 0) logs.set(name, (*value - *old) / per);
  };
  if (usage.processors_all && before.processors_all)
    add_rate("cpu", usage.processors_busy, before.processors_busy, *usage.processors_all - *before.processors_all);
  add("memory", usage.memory);
  add("memory_free", usage.memory_free);
  if (const std::size_t free = default_device().free_memory()) logs.set("gpu_memory_free", static_cast<double>(free));
  add_rate("disk_read", usage.disk_read, before.disk_read, now - *since);
  add_rate("disk_written", usage.disk_written, before.disk_written, now - *since);
  add_rate("net_received", usage.net_received, before.net_received, now - *since);
  add_rate("net_sent", usage.net_sent, before.net_sent, now - *since);
  return logs.empty() ? std::nullopt : std::optional(logs);
}

}  // namespace etude::experiment
