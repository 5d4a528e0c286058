#pragma once

#include <atomic>
#include <memory>
#include <vector>

namespace etude {

/// The process's one pool of threads. Work is split into parts by its shape alone, so results do not depend on how many
/// threads there are. Where the target has no threads, the caller does all parts.
class ThreadPool {
 public:
  explicit ThreadPool(int count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int count() const { return count_; }
  /// Calls task(context, part) for every part in [0, parts), and returns when all are done. Allocates nothing. `task`
  /// must not throw. Whoever finds the pool at work for another thread does all parts itself.
  void run(int parts, void (*task)(void* context, int part), void* context);

 private:
  struct Threads;
  void work_off();
  int count_;
  std::unique_ptr<Threads> threads_;
};

/// Threads that kernels use: at first as many as there are cores. Plans that run meanwhile are not disturbed, but do
/// not change it while one runs on another thread.
void set_num_threads(int count);
int num_threads();
ThreadPool& thread_pool();

}  // namespace etude
