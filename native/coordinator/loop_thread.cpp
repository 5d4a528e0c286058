#include "coordinator/loop_thread.hpp"

#include <future>
#include <utility>

namespace etude::coordinator {

LoopThread::LoopThread(std::chrono::milliseconds period, std::function<void()> pause)
    : thread_([this, period, own = std::move(pause)] { loop(period, own); }) {}

LoopThread::~LoopThread() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LoopThread::run(std::function<void(kj::AsyncIoContext&)> function) {
  std::packaged_task<void(kj::AsyncIoContext&)> task(std::move(function));
  std::future<void> end = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
  end.get();
}

void LoopThread::loop(std::chrono::milliseconds period, const std::function<void()>& pause) {
  kj::AsyncIoContext io = kj::setupAsyncIo();
  for (;;) {
    std::unique_lock lock(mutex_);
    const bool ready = changed_.wait_for(lock, period, [this] { return stopped_ || !tasks_.empty(); });
    if (ready && tasks_.empty()) return;
    if (!ready) {
      lock.unlock();
      pause();
      continue;
    }
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task(io);
  }
}

}  // namespace etude::coordinator
