#include "etude/callbacks/detail/process_usage.hpp"

#if defined(__linux__)
#include <unistd.h>

#include <cstdio>
#include <ctime>
#endif

namespace etude {

std::optional<ProcessUsage> process_usage() {
#if defined(__linux__)
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (!file) return {};
  long long all = 0, resident = 0;
  const int read = std::fscanf(file, "%lld %lld", &all, &resident);
  std::fclose(file);
  timespec time{};
  if (read != 2 || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return {};
  return ProcessUsage{static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)),
                      static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
#else
  return {};
#endif
}

}  // namespace etude
