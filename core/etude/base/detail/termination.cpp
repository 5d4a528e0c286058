#include "etude/base/detail/termination.hpp"

#if defined(ETUDE_SIGNALS)

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>

namespace etude {
namespace {

constexpr int terminated = 128 + SIGTERM;

/// A signal to a whole group of processes reaches a process twice: from the sender, and from the launcher that passes
/// it on. Within this time, in nanoseconds, it is one request.
constexpr std::int64_t repetition = 1'000'000'000;

std::atomic<std::int64_t> requested_at = 0;  ///< in nanoseconds; 0 before the first request
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

extern "C" void take_request(int) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec + 1;
  std::int64_t first = 0;
  if (!requested_at.compare_exchange_strong(first, now) && now - first >= repetition) ::_exit(terminated);
}

/// The handler is installed while at least one of these exists.
class Sigterm : public Termination {
 public:
  Sigterm() {
    const std::lock_guard lock(mutex_);
    if (count_++ > 0) return;
    requested_at = 0;
    struct sigaction action{};
    action.sa_handler = take_request;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGTERM, &action, &before_);
  }
  ~Sigterm() override {
    const std::lock_guard lock(mutex_);
    if (--count_ > 0) return;
    ::sigaction(SIGTERM, &before_, nullptr);
    if (requested_at > 0 && !answered_) std::raise(SIGTERM);
  }
  Sigterm(const Sigterm&) = delete;
  Sigterm& operator=(const Sigterm&) = delete;

  bool requested() override { return answered_ = requested_at > 0; }
  [[noreturn]] void exit() override {
    std::fflush(nullptr);
    std::_Exit(terminated);
  }

 private:
  static inline std::mutex mutex_;
  static inline int count_ = 0;
  static inline struct sigaction before_{};
  bool answered_ = false;
};

}  // namespace

WatchTermination watch_sigterm() {
  return [] { return std::make_unique<Sigterm>(); };
}

}  // namespace etude

#else

namespace etude {

WatchTermination watch_sigterm() { return {}; }

}  // namespace etude

#endif
