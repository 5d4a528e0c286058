#pragma once

#include <memory>

namespace etude {

/// Threads that divide work. Work is divided into parts by its shape, so results do not depend on the number of
/// threads, nor on the thread of a part. Threads start when there is parallel work for the first time. The caller
/// processes parts too, and waits only for parts that were begun: a thread that has not started yet, or that has no
/// core because of another process, delays nothing. On targets without threads, the caller does all parts.
///
/// A waiting thread spins for some microseconds, then sleeps. In WebAssembly a page's main thread must not sleep: it
/// continues to spin, and a page that must stay responsive trains in a worker.
class ThreadPool {
 public:
  /// The caller's thread and count - 1 others; numbers below 1 count as 1.
  explicit ThreadPool(int count);
  /// Does not wait: threads end on their own.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The number of threads, the caller's included.
  int count() const { return count_; }
  /// Calls task(context, part) for every part in [0, parts), and returns when all are done. Allocates only when it
  /// starts threads. `task` must not throw. If another thread uses the pool, the caller does all parts itself.
  void run(int parts, void (*task)(void* context, int part), void* context);

 private:
  struct Shared;
  int count_;
  /// Shared with the threads.
  std::shared_ptr<Shared> shared_;
};

/// Sets the number of threads of kernels. Default: the number of cores, and one on targets without threads. Do not
/// change it while a plan runs on another thread. Throws Error(value) for numbers below 1.
void set_num_threads(int count);
/// The number of threads of kernels.
int num_threads();
/// The threads of kernels.
ThreadPool& thread_pool();

}  // namespace etude
