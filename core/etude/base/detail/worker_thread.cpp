#include "etude/base/detail/worker_thread.hpp"

#include <atomic>
#include <string>
#include <system_error>
#include <utility>

#include "etude/base/messages.hpp"

namespace etude {

std::function<bool()>& thread_fault() {
  static std::function<bool()> fault;
  return fault;
}

std::optional<std::thread> started_thread(std::function<void()> work, std::string_view what) {
  static std::atomic_flag warned;
  try {
    if (!thread_fault() || !thread_fault()()) return std::thread(std::move(work));
  } catch (const std::system_error&) {
    // The system has no more threads.
  }
  if (!warned.test_and_set())
    print_warning({}, "The system refused a thread for " + std::string(what) +
                          ". Work continues with the existing threads; raise the limit of processes, or use "
                          "fewer threads and workers.");
  return std::nullopt;
}

}  // namespace etude
