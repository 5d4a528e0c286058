#include "gloo/sum_thread.hpp"

#include <csignal>
#include <cstddef>

namespace etude {
namespace {

/// While it exists, this thread, and threads that it starts, handle only signals of their own errors.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int error : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) ::sigdelset(&blocked, error);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~WithoutSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

SumThread::~SumThread() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SumThread::start(std::span<const ReplicaSum> bucket, int number) {
  const auto index = static_cast<std::size_t>(number);
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    const WithoutSignals blocked;
    thread_ = std::thread([this] { run(); });
  }
  if (counts_.size() <= index) counts_.resize(index + 1);
  waiting_.push_back(bucket);
  counts_[index] = ++started_;
  changed_.notify_all();
}

void SumThread::await(int number) {
  const auto index = static_cast<std::size_t>(number);
  std::unique_lock lock(mutex_);
  const std::uint64_t count = index < counts_.size() ? counts_[index] : 0;
  changed_.wait(lock, [&] { return ended_ >= count; });
}

void SumThread::await_all() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ == started_; });
}

void SumThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return !waiting_.empty() || stops_; });
    if (waiting_.empty()) return;
    const std::span<const ReplicaSum> bucket = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    sum_(bucket);
    lock.lock();
    ++ended_;
    changed_.notify_all();
  }
}

}  // namespace etude
