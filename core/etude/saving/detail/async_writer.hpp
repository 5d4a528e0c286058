#pragma once

#include <exception>
#include <functional>
#include <thread>

namespace etude {

/// Runs one task at a time on its own thread, so that training continues meanwhile. The task runs at once where the
/// build has no threads that may be waited for (ETUDE_PREFETCH: those of WebAssembly), or where the system has no more.
class AsyncWriter {
 public:
  AsyncWriter() = default;
  /// Waits. An error of the task that was not read before is lost.
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  /// Waits for the previous task, as `wait` does, and starts this one.
  void start(std::function<void()> work);
  /// Returns when the task is done. Throws the task's exception, once.
  void wait();

 private:
  void join();

  std::thread thread_;
  std::exception_ptr error_;
};

}  // namespace etude
