#pragma once

#include <memory>

namespace etude {

/// Threads that share work. Work is split into parts by its shape, so results do not depend on how many threads there
/// are, nor on which of them does a part. Threads start when there is work for several for the first time. The caller
/// takes parts as the others do, and waits only for parts that were begun: a thread that has not started yet,
/// or that another process keeps from its core, delays nothing. Where the target has no threads, the caller does all
/// parts.
///
/// A waiting thread spins for some microseconds, then sleeps. In WebAssembly a page's main thread must not sleep: there
/// it goes on looking, and a page that must stay smooth trains in a worker of its own.
class ThreadPool {
 public:
  /// The caller's thread and count - 1 others; less than 1 counts as 1.
  explicit ThreadPool(int count);
  /// Waits for nothing: threads end as soon as they see it.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The number of threads, the caller's included.
  int count() const { return count_; }
  /// Calls task(context, part) for every part in [0, parts), and returns when all are done. Allocates nothing, but when
  /// it starts threads. `task` must not throw. A caller that finds the pool busy for another thread does all parts
  /// itself.
  void run(int parts, void (*task)(void* context, int part), void* context);

 private:
  struct Shared;
  int count_;
  /// The threads have it too.
  std::shared_ptr<Shared> shared_;
};

/// How many threads kernels use: at first as many as there are cores; always one where the target has no threads. Not
/// to be changed while a plan runs on another thread. Throws Error(value) for less than 1.
void set_num_threads(int count);
/// How many threads kernels use.
int num_threads();
/// The threads that kernels use.
ThreadPool& thread_pool();

}  // namespace etude
