#include "etude/data/ordered_queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace etude {

/// Threads that fill a ring of slots: item n goes to slot n modulo their number.
class OrderedQueue::Workers {
 public:
  Workers(const Make& make, int count, std::int64_t ahead) : make_(make), slots_(static_cast<std::size_t>(ahead)) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }

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
      begun_ = taken_ = first;
      running_ = true;
    }
    changed_.notify_all();
  }

  std::optional<Batch> take() {
    std::unique_lock lock(mutex_);
    Slot& slot = slot_of(taken_);
    changed_.wait(lock, [&] { return slot.done; });
    const Slot made = std::exchange(slot, {});
    ++taken_;
    lock.unlock();
    changed_.notify_all();
    if (made.error) std::rethrow_exception(made.error);
    return made.item;
  }

  void stop() {
    std::unique_lock lock(mutex_);
    running_ = false;
    changed_.wait(lock, [this] { return busy_ == 0; });
    std::ranges::fill(slots_, Slot{});
  }

 private:
  struct Slot {
    bool done = false;
    std::optional<Batch> item;
    std::exception_ptr error;
  };

  Slot& slot_of(std::int64_t number) { return slots_[static_cast<std::size_t>(number) % slots_.size()]; }
  bool has_work() const { return running_ && begun_ < taken_ + static_cast<std::int64_t>(slots_.size()); }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return quit_ || has_work(); });
      if (quit_) return;
      const std::int64_t number = begun_++;
      ++busy_;
      lock.unlock();
      Slot made = make(number);
      lock.lock();
      --busy_;
      if (!made.item) running_ = false;  // nobody needs what lies behind the end
      slot_of(number) = std::move(made);
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
  std::vector<Slot> slots_;
  std::int64_t begun_ = 0, taken_ = 0;
  int busy_ = 0;
  bool running_ = false, quit_ = false;
  std::vector<std::thread> threads_;  // last: they use all of the above
};

OrderedQueue::OrderedQueue(Make make, [[maybe_unused]] int workers, [[maybe_unused]] std::int64_t ahead)
    : make_(std::move(make)) {
#ifdef ETUDE_PREFETCH
  if (workers > 0) workers_ = std::make_unique<Workers>(make_, workers, std::max<std::int64_t>(ahead, 1));
#endif
}

OrderedQueue::~OrderedQueue() = default;

void OrderedQueue::start(std::int64_t first) {
  ended_ = false;
  next_ = first;
  if (workers_) workers_->start(first);
}

std::optional<Batch> OrderedQueue::take() {
  if (ended_) return {};
  ended_ = true;  // unless all goes well
  std::optional<Batch> item = workers_ ? workers_->take() : make_(next_++);
  ended_ = !item;
  return item;
}

void OrderedQueue::stop() {
  if (workers_) workers_->stop();
  ended_ = true;
}

}  // namespace etude
