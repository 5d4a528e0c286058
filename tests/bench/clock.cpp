#include "clock.hpp"

#include <chrono>
#include <ctime>

#ifdef __EMSCRIPTEN__
#include <emscripten.h>

double cpu_seconds() {
  return EM_ASM_DOUBLE({
    const used = process.cpuUsage();
    return (used.user + used.system) / 1e6;
  });
}
const char* target_name() { return "wasm"; }
#else
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
const char* target_name() { return "native"; }
#endif

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
