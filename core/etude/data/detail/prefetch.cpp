#include "etude/data/detail/prefetch.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "etude/base/detail/worker_thread.hpp"

namespace etude {

/// A thread that fills one slot at a time, on request.
class Prefetcher::Worker {
 public:
  explicit Worker(const Fill& fill) : fill_(fill), thread_(started_thread([this] { work(); }, "making data ahead")) {}

  bool started() const { return thread_.has_value(); }

  ~Worker() {
    if (!thread_) return;
    {
      const std::lock_guard lock(mutex_);
      state_ = State::quit;
    }
    changed_.notify_all();
    thread_->join();
  }

  void start(std::size_t slot) {
    {
      const std::lock_guard lock(mutex_);
      slot_ = slot;
      state_ = State::asked;
    }
    changed_.notify_all();
  }

  /// Waits for the slot. Returns false at the end. Rethrows the exception of making it.
  bool finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_ == State::done; });
    state_ = State::idle;
    if (error_) std::rethrow_exception(std::exchange(error_, {}));
    return more_;
  }

 private:
  enum class State { idle, asked, done, quit };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return state_ == State::asked || state_ == State::quit; });
      if (state_ == State::quit) return;
      const std::size_t slot = slot_;
      lock.unlock();
      bool more = false;
      std::exception_ptr error;
      try {
        more = fill_(slot);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      more_ = more;
      error_ = std::move(error);
      if (state_ == State::asked) state_ = State::done;
      changed_.notify_all();
    }
  }

  const Fill& fill_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::idle;
  std::size_t slot_ = 0;
  bool more_ = false;
  std::exception_ptr error_;
  std::optional<std::thread> thread_;  // last: it uses all members above
};

Prefetcher::Prefetcher(Fill fill, [[maybe_unused]] bool threaded) : fill_(std::move(fill)) {
#ifdef ETUDE_PREFETCH
  if (threaded) worker_ = std::make_unique<Worker>(fill_);
  if (worker_ && !worker_->started()) worker_ = nullptr;  // the caller's thread makes all items
#endif
}

Prefetcher::~Prefetcher() = default;

void Prefetcher::fetch() {
  if (!worker_ || asked_ || ended_) return;
  worker_->start(next_);
  asked_ = true;
}

std::optional<std::size_t> Prefetcher::consume() {
  if (ended_) return {};
  fetch();
  asked_ = false;
  ended_ = true;  // unless no exception follows
  if (!(worker_ ? worker_->finish() : fill_(next_))) return {};
  ended_ = false;
  const std::size_t slot = next_;
  if (worker_) {
    next_ = slots - 1 - slot;
    fetch();
  }
  return slot;
}

void Prefetcher::pause() {
  if (asked_) {
    try {
      worker_->finish();
    } catch (...) {
      // The exception belongs to an item that is not needed any more.
    }
  }
  asked_ = ended_ = false;
  next_ = 0;
}

}  // namespace etude
