#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "etude/base/detail/denormals.hpp"
#include "host_runtime.hpp"

// The second queue of a fake GPU on the host.

namespace etude::testing {

namespace {

class LateQueue : public cuda::SideQueue, public HostStream {
 public:
  explicit LateQueue(HostRuntime& runtime) : runtime_(runtime) {}
  ~LateQueue() override { wait(); }
  CUstream_st* stream() override { return HostRuntime::handle(*this); }
  void follow() override {}  // the runtime's queue has executed all work
  void mark(std::size_t number) override { marks_[number] = queued_; }
  void lead(std::size_t number) override { run_to(marks_.at(number)); }
  /// Each call gives the queue time for one item.
  bool reached(std::size_t number) override {
    const std::size_t mark = marks_.at(number), done = queued_ - queue_.size();
    if (done < mark) run_to(done + 1);
    return queued_ - queue_.size() >= mark;
  }
  void wait() noexcept override { run_to(queued_); }

  int gpu() const override { return runtime_.ordinal(); }
  bool locked() const override { return runtime_.locked(); }
  bool recording() const override { return runtime_.recording(); }
  void expect_here(const std::byte* memory, std::size_t bytes) const override { runtime_.expect_here(memory, bytes); }
  void queue(std::function<void()> work) override {
    queue_.push_back(std::move(work));
    ++queued_;
  }
  std::function<void()> so_far() override {
    return [this, position = queued_] { run_to(position); };
  }

 private:
  void run_to(std::size_t position) {
    const FlushDenormals mode;
    while (queued_ - queue_.size() < position) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  }

  HostRuntime& runtime_;
  std::deque<std::function<void()>> queue_;
  std::size_t queued_ = 0;
  std::map<std::size_t, std::size_t> marks_;
};

}  // namespace

std::unique_ptr<cuda::SideQueue> HostRuntime::side_queue() { return std::make_unique<LateQueue>(*this); }

}  // namespace etude::testing
