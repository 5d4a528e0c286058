#include "etude/base/detail/termination.hpp"

#if defined(ETUDE_SIGNALS)

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace etude {
namespace {

constexpr int terminated = 128 + SIGTERM;

std::atomic<int> requests = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void take_request(int) {
  if (requests.fetch_add(1) > 0) ::_exit(terminated);
}

/// The handler is installed while at least one of these exists.
class Sigterm : public Termination {
 public:
  Sigterm() {
    const std::lock_guard lock(mutex_);
    if (count_++ > 0) return;
    requests = 0;
    struct sigaction action{};
    action.sa_handler = take_request;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGTERM, &action, &before_);
  }
  ~Sigterm() override {
    const std::lock_guard lock(mutex_);
    if (--count_ > 0) return;
    ::sigaction(SIGTERM, &before_, nullptr);
    if (requests > 0 && !answered_) std::raise(SIGTERM);
  }
  Sigterm(const Sigterm&) = delete;
  Sigterm& operator=(const Sigterm&) = delete;

  bool requested() override { return answered_ = requests > 0; }
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
