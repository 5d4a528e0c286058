#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string_view>

#include "etude/training/callback.hpp"

/// What processes of a test share: values in memory, and a callback that acts after certain steps.
namespace etude::testing {

using std::chrono::steady_clock;

/// Calls a function after each step.
class AfterSteps : public Callback {
 public:
  explicit AfterSteps(std::function<void(int steps)> call) : call_(std::move(call)) {}
  void on_train_batch_end(std::int64_t, Logs&) override { call_(++steps_); }

 private:
  std::function<void(int)> call_;
  int steps_ = 0;
};

/// An atomic value of all processes.
template <class T> class Shared {
 public:
  Shared()
      : at_(new(::mmap(nullptr, sizeof(Atomic), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Atomic()) {}
  ~Shared() { ::munmap(at_, sizeof(Atomic)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  void set(T value) { *at_ = value; }
  T get() const { return *at_; }

 private:
  using Atomic = std::atomic<T>;
  Atomic* at_;
};

/// A moment that all processes can read.
class SharedMoment {
 public:
  void set() { at_.set(steady_clock::now().time_since_epoch().count()); }
  double seconds_since() const {
    return std::chrono::duration<double>(steady_clock::now().time_since_epoch() - steady_clock::duration(at_.get()))
        .count();
  }

 private:
  Shared<steady_clock::rep> at_;
};

/// The largest of several times, in seconds, which all processes can raise.
class SharedSeconds {
 public:
  SharedSeconds()
      : most_(new(::mmap(nullptr, sizeof(Most), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Most(0)) {}
  ~SharedSeconds() { ::munmap(most_, sizeof(Most)); }
  SharedSeconds(const SharedSeconds&) = delete;
  SharedSeconds& operator=(const SharedSeconds&) = delete;
  void raise(double seconds) {
    for (double before = *most_; before < seconds && !most_->compare_exchange_weak(before, seconds);) continue;
  }
  double value() const { return *most_; }

 private:
  using Most = std::atomic<double>;
  Most* most_;
};

/// How many times longer than alone a process takes on this machine, at the worst moment, beside what else runs. A
/// process of its own measures it, by a tenth of a processor.
class Slowdown {
 public:
  Slowdown() : process_(::fork()) {
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
      const double began = seconds(CLOCK_MONOTONIC), used = seconds(CLOCK_THREAD_CPUTIME_ID);
      while (seconds(CLOCK_THREAD_CPUTIME_ID) < used + 2e-3) continue;
      most_.raise((seconds(CLOCK_MONOTONIC) - began) / 2e-3);
      ::usleep(18'000);
    }
  }
  ~Slowdown() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Slowdown(const Slowdown&) = delete;
  Slowdown& operator=(const Slowdown&) = delete;
  double value() const { return std::max(1.0, most_.value()); }

 private:
  static double seconds(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  SharedSeconds most_;
  pid_t process_;
};

/// The number of repetitions: many if ETUDE_CAMPAIGN is "long", as ./dev test cluster kills sets it.
inline int rounds(int quick, int full) {
  const char* wanted = std::getenv("ETUDE_CAMPAIGN");
  return wanted && std::string_view(wanted) == "long" ? full : quick;
}

}  // namespace etude::testing
