#include "etude/base/threads.hpp"

#include <algorithm>

#include "etude/base/detail/denormals.hpp"
#include "etude/base/error.hpp"

#ifdef ETUDE_THREADS
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "etude/base/detail/worker_thread.hpp"
#endif

namespace etude {

#ifdef ETUDE_THREADS

namespace {

/// Tells the core that this thread is spinning. A thread spins, before it sleeps, longer than the gap between two
/// instructions of a plan: some twenty microseconds.
#if defined(__x86_64__)
constexpr int spins = 1000;
void relax() { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
constexpr int spins = 1000;
void relax() { __asm__ volatile("yield"); }
#else
constexpr int spins = 5000;
void relax() {}
#endif

/// Threads sleep here until a condition that another thread writes becomes true. Not std::atomic::wait: libc++
/// implements that for WebAssembly by a loop of timed sleeps.
class Gate {
 public:
  template <class Condition> void wait_until(Condition condition) {
    for (int i = 0; i < spins; ++i) {
      if (condition()) return;
      relax();
    }
    std::unique_lock lock(mutex_);
    ++sleepers_;
    opened_.wait(lock, condition);
    --sleepers_;
  }

  /// Call it after the write. It is sequentially consistent with the write and with `condition`: either this call sees
  /// the sleeper, or the sleeper sees the write.
  void open() {
    if (sleepers_ == 0) return;
    std::unique_lock(mutex_).unlock();  // a sleeper that has checked the condition is asleep now
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::atomic<int> sleepers_{0};
};

}  // namespace

struct ThreadPool::Shared {
  /// The number of the run, and its parts that are not claimed yet. They are in one word, so that a late thread claims
  /// no part of the next run with the task of this one.
  std::atomic<std::uint64_t> work{0};
  std::atomic<int> unfinished{0};
  std::atomic<void (*)(void*, int)> task{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<bool> stop{false};
  std::atomic_flag taken;
  bool started = false;
  Gate begin, end;

  static constexpr std::uint64_t parts_mask = 0xFFFFFFFF, next_run = std::uint64_t{1} << 32;

  void start(int threads, const std::shared_ptr<Shared>& self);
  void work_off();
  void serve();
};

void ThreadPool::Shared::start(int threads, const std::shared_ptr<Shared>& self) {
  started = true;
  for (int i = 0; i < threads; ++i) {
    auto thread = started_thread([self] { self->serve(); }, "kernels");
    if (!thread) return;  // the existing threads process all parts
    thread->detach();
  }
}

void ThreadPool::Shared::work_off() {
  for (std::uint64_t seen = work.load(); seen & parts_mask;) {
    // If this task belongs to another run, `work` has changed, and it is not used.
    const auto do_part = task.load(std::memory_order_relaxed);
    void* const given = context.load(std::memory_order_relaxed);
    if (!work.compare_exchange_weak(seen, seen - 1)) continue;
    do_part(given, static_cast<int>((seen & parts_mask) - 1));
    if (--unfinished == 0) end.open();
    seen = work.load();
  }
}

/// The loop of a thread. It uses the floating-point mode of the threads that run plans: otherwise results would depend
/// on which thread processes a part.
void ThreadPool::Shared::serve() {
  const FlushDenormals mode;
  for (;;) {
    begin.wait_until([this] { return (work.load() & parts_mask) || stop.load(); });
    if (stop) return;
    work_off();
  }
}

ThreadPool::ThreadPool(int count) : count_(std::max(count, 1)), shared_(std::make_shared<Shared>()) {}

ThreadPool::~ThreadPool() {
  shared_->stop = true;
  shared_->begin.open();
}

void ThreadPool::run(int parts, void (*task)(void*, int), void* context) {
  if (count_ == 1 || parts <= 1 || shared_->taken.test_and_set(std::memory_order_acquire)) {
    for (int part = 0; part < parts; ++part) task(context, part);
    return;
  }
  Shared& shared = *shared_;
  if (!shared.started) shared.start(count_ - 1, shared_);
  shared.task.store(task, std::memory_order_relaxed);
  shared.context.store(context, std::memory_order_relaxed);
  shared.unfinished = parts;
  const std::uint64_t run = (shared.work.load(std::memory_order_relaxed) & ~Shared::parts_mask) + Shared::next_run;
  shared.work = run | static_cast<std::uint64_t>(parts);
  shared.begin.open();
  shared.work_off();
  shared.end.wait_until([&] { return shared.unfinished.load() == 0; });
  shared.taken.clear(std::memory_order_release);
}

#else

struct ThreadPool::Shared {};

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
        " threads - expected 1 or more - pass at most the number of cores.");
  if (count != pool()->count()) pool() = std::make_unique<ThreadPool>(count);
}

int num_threads() { return pool()->count(); }
ThreadPool& thread_pool() { return *pool(); }

}  // namespace etude
