#include "etude/base/threads.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

#ifdef ETUDE_THREADS
#include <thread>
#endif

namespace etude {

#ifdef ETUDE_THREADS

struct ThreadPool::Threads {
  std::atomic<unsigned> round{0};
  std::atomic<int> next{0}, busy{0};
  std::atomic<bool> stop{false};
  std::atomic_flag taken;
  int parts = 0;
  void (*task)(void*, int) = nullptr;
  void* context = nullptr;
  std::vector<std::jthread> threads;
};

namespace {

/// How often a waiting thread looks before it sleeps: some microseconds, the length of the gap between two instructions
/// of a plan.
constexpr int spins = 2000;

template <class T> void wait_while(const std::atomic<T>& value, T old) {
  for (int i = 0; i < spins; ++i)
    if (value.load(std::memory_order_acquire) != old) return;
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int count) : count_(std::max(count, 1)), threads_(std::make_unique<Threads>()) {
  for (int i = 1; i < count_; ++i)
    threads_->threads.emplace_back([this, pool = threads_.get()] {
      unsigned seen = 0;
      for (;;) {
        wait_while(pool->round, seen);
        seen = pool->round.load(std::memory_order_acquire);
        if (pool->stop) return;
        work_off();
        if (pool->busy.fetch_sub(1, std::memory_order_acq_rel) == 1) pool->busy.notify_one();
      }
    });
}

ThreadPool::~ThreadPool() {
  threads_->stop = true;
  ++threads_->round;
  threads_->round.notify_all();
}

void ThreadPool::work_off() {
  for (int part; (part = threads_->next.fetch_add(1, std::memory_order_relaxed)) < threads_->parts;)
    threads_->task(threads_->context, part);
}

void ThreadPool::run(int parts, void (*task)(void*, int), void* context) {
  if (count_ == 1 || parts <= 1 || threads_->taken.test_and_set(std::memory_order_acquire)) {
    for (int part = 0; part < parts; ++part) task(context, part);
    return;
  }
  Threads& pool = *threads_;
  pool.parts = parts;
  pool.task = task;
  pool.context = context;
  pool.next.store(0, std::memory_order_relaxed);
  pool.busy.store(count_ - 1, std::memory_order_relaxed);
  pool.round.fetch_add(1, std::memory_order_release);
  pool.round.notify_all();
  work_off();
  for (int left; (left = pool.busy.load(std::memory_order_acquire)) > 0;) wait_while(pool.busy, left);
  pool.taken.clear(std::memory_order_release);
}

#else

struct ThreadPool::Threads {};

ThreadPool::ThreadPool(int) : count_(1) {}
ThreadPool::~ThreadPool() = default;
void ThreadPool::run(int parts, void (*task)(void*, int), void* context) {
  for (int part = 0; part < parts; ++part) task(context, part);
}

#endif

namespace {

int default_count() {
#ifdef ETUDE_THREADS
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
#else
  return 1;
#endif
}

std::unique_ptr<ThreadPool>& pool() {
  static auto instance = std::make_unique<ThreadPool>(default_count());
  return instance;
}

}  // namespace

void set_num_threads(int count) {
  check(count >= 1, ErrorKind::value, "set_num_threads", count,
        " threads - expected 1 or more - choose at most the number of cores.");
  if (count != pool()->count()) pool() = std::make_unique<ThreadPool>(count);
}

int num_threads() { return pool()->count(); }
ThreadPool& thread_pool() { return *pool(); }

}  // namespace etude
