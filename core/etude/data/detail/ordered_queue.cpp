#include "etude/data/detail/ordered_queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "etude/base/detail/worker_thread.hpp"

namespace etude {

/// Threads that fill slots. A slot holds an item that was begun and not consumed yet, in order.
class OrderedQueue::Workers {
 public:
  Workers(const Make& make, std::int64_t count, std::int64_t ahead) : make_(make), ahead_(ahead) {
    for (std::int64_t i = 0; i < std::min(count, ahead); ++i) {
      auto thread = started_thread([this] { work(); }, "making data ahead");
      if (!thread) return;  // the existing threads make all items
      threads_.push_back(std::move(*thread));
    }
  }

  bool started() const { return !threads_.empty(); }

  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      quit_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void start(std::int64_t first) {
    {
      const std::lock_guard lock(mutex_);
      begun_ = consumed_ = first;
      running_ = true;
    }
    changed_.notify_all();
  }

  std::optional<Batch> consume() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !slots_.empty() && slots_.front().done; });
    const Slot made = std::move(slots_.front());
    slots_.pop_front();
    ++consumed_;
    lock.unlock();
    changed_.notify_all();
    if (made.error) std::rethrow_exception(made.error);
    return made.item;
  }

  void stop() {
    std::unique_lock lock(mutex_);
    running_ = false;
    changed_.wait(lock, [this] { return busy_ == 0; });
    slots_.clear();
  }

 private:
  struct Slot {
    bool done = false;
    std::optional<Batch> item;
    std::exception_ptr error;
  };

  bool has_work() const { return running_ && begun_ - consumed_ < ahead_; }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return quit_ || has_work(); });
      if (quit_) return;
      const std::int64_t number = begun_++;
      slots_.emplace_back();
      ++busy_;
      lock.unlock();
      Slot made = make(number);
      lock.lock();
      --busy_;
      if (!made.item) running_ = false;  // items after the end are not needed
      slots_[static_cast<std::size_t>(number - consumed_)] = std::move(made);
      changed_.notify_all();
    }
  }

  Slot make(std::int64_t number) const {
    Slot made{true, {}, {}};
    try {
      made.item = make_(number);
    } catch (...) {
      made.error = std::current_exception();
    }
    return made;
  }

  const Make& make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Slot> slots_;
  std::int64_t ahead_;
  std::int64_t begun_ = 0, consumed_ = 0;
  int busy_ = 0;
  bool running_ = false, quit_ = false;
  std::vector<std::thread> threads_;  // last: they use all members above
};

OrderedQueue::OrderedQueue(Make make, [[maybe_unused]] int workers, [[maybe_unused]] std::int64_t ahead)
    : make_(std::move(make)) {
#ifdef ETUDE_PREFETCH
  if (workers > 0) workers_ = std::make_unique<Workers>(make_, workers, std::max<std::int64_t>(ahead, 1));
  if (workers_ && !workers_->started()) workers_ = nullptr;
#endif
}

OrderedQueue::~OrderedQueue() = default;

void OrderedQueue::start(std::int64_t first) {
  ended_ = false;
  next_ = first;
  if (workers_) workers_->start(first);
}

std::optional<Batch> OrderedQueue::consume() {
  if (ended_) return {};
  ended_ = true;  // unless no exception follows
  std::optional<Batch> item = workers_ ? workers_->consume() : make_(next_++);
  ended_ = !item;
  return item;
}

void OrderedQueue::stop() {
  if (workers_) workers_->stop();
  ended_ = true;
}

}  // namespace etude
