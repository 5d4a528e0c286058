#pragma once

#include <exception>
#include <functional>
#include <thread>

namespace etude {

/// Does one piece of work at a time on a thread of its own, so that training goes on meanwhile. Where the build has no
/// threads that may be waited for (ETUDE_PREFETCH: those of WebAssembly), or the system no more, it is done at once.
class AsyncWriter {
 public:
  AsyncWriter() = default;
  /// Waits. An error of the work that was not read before is lost.
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  /// Waits for the work before, as `wait` does, and begins this one.
  void start(std::function<void()> work);
  /// Returns when all work is done. Throws what it threw, once.
  void wait();

 private:
  void join();

  std::thread thread_;
  std::exception_ptr error_;
};

}  // namespace etude
