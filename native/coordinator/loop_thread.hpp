#pragma once

#include <kj/async-io.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace etude::coordinator {

/// Runs functions on a thread with an event loop of Cap'n Proto. A thread can have only one, so callers need none.
class LoopThread {
 public:
  /// `pause`: called after every period of this length without work.
  LoopThread(std::chrono::milliseconds period, std::function<void()> pause);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  /// Runs a function there, and returns when it has ended. Throws what it throws.
  void run(std::function<void(kj::AsyncIoContext&)> function);

 private:
  void loop(std::chrono::milliseconds period, const std::function<void()>& pause);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void(kj::AsyncIoContext&)>> tasks_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace etude::coordinator
