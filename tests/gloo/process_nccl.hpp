#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/cuda.hpp"
#include "cuda/host_runtime.hpp"
#include "cuda/nccl_workers.hpp"

struct etude::cuda::ncclComm {
  int rank, count;
  std::uint64_t sums = 0;  ///< that its stream has begun
  bool finalized = false;
  std::atomic<bool> aborted = false;
};

/// Fake GPUs, one in each process of a test, and a fake NCCL that sums them in shared memory.
namespace etude::testing {

/// A fake NCCL between processes that were forked after it was made, after NVIDIA's documentation of its functions in
/// communicators that do not block. A rank executes its part of a sum when its stream reaches it, and waits there for
/// the others, until it is aborted. Throws std::logic_error for calls that NVIDIA forbids. One at a time.
class ProcessNccl {
 public:
  static constexpr std::size_t most_ranks = 4, most_bytes = std::size_t{1} << 16;

  ProcessNccl()
      : state_(new(::mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) State()) {
    current = state_;
  }
  ~ProcessNccl() { ::munmap(state_, sizeof(State)); }
  ProcessNccl(const ProcessNccl&) = delete;
  ProcessNccl& operator=(const ProcessNccl&) = delete;

  /// For the next processes.
  void reset() { new (state_) State(); }
  /// The sums that rank 0 has completed.
  std::uint64_t sums() const { return state_->completed[0]; }
  /// A process gets an error from now on: that another one ended, or one of its own.
  void fail(int rank, bool of_another) { state_->failures[static_cast<std::size_t>(rank)] = of_another ? 6 : 1; }
  /// This process cannot connect; -1: none can.
  void refuse(int rank) { state_->refused = rank; }
  /// Aborts do not return.
  void block_aborts() { state_->blocking = true; }
  /// The communicators that were destroyed, and those that were aborted.
  int destroyed() const { return state_->destroyed; }
  int aborted() const { return state_->aborted; }

  static const cuda::NcclWorkers::Functions& functions() {
    static const cuda::NcclWorkers::Functions functions{
        {nullptr, destroy, abort, begin_group, end_group, all_reduce, text}, version, make_id, create, state, finalize};
    return functions;
  }

 private:
  using Comm = cuda::ncclComm;
  using Id = cuda::NcclWorkers::UniqueId;
  // Of ncclResult_t.
  static constexpr int success = 0, invalid_usage = 5, remote_error = 6, in_progress = 7;
  /// Instead of a rank.
  static constexpr int nobody = -2;

  struct State {
    /// The numbers of processes that have done this.
    std::atomic<int> joined = 0, finalized = 0, destroyed = 0, aborted = 0;
    /// The rank that cannot connect.
    std::atomic<int> refused = nobody;
    std::atomic<bool> blocking = false;
    std::array<std::atomic<int>, most_ranks> failures{};
    std::array<std::atomic<std::uint64_t>, most_ranks> given{}, completed{};
    std::array<std::array<std::array<std::byte, most_bytes>, most_ranks>, 2> parts;  ///< of two sums in turn
    Id id{};
  };
  inline static State* current = nullptr;
  inline static int depth = 0;           ///< of groups
  inline static bool launching = false;  ///< The last group is being enqueued.

  static int version(int* number) {
    *number = 22500;
    return success;
  }
  static int make_id(Id* id) {
    std::strcpy(id->bytes, "an id of this test");
    current->id = *id;
    return success;
  }
  static int create(Comm** made, int count, Id id, int rank, cuda::NcclWorkers::Config* config) {
    if (std::memcmp(&id, &current->id, sizeof id) != 0) throw std::logic_error("another id than that of rank 0");
    if (config->blocking != 0 || config->size < offsetof(cuda::NcclWorkers::Config, padding))
      throw std::logic_error("a communicator that may block");
    if (current->refused == rank || current->refused == -1) return invalid_usage;
    *made = new Comm{rank, count};
    ++current->joined;
    return in_progress;
  }
  static int state(Comm* comm, int* state) {
    const int failure = current->failures[static_cast<std::size_t>(comm->rank)];
    const bool waits = current->joined < comm->count || (comm->finalized && current->finalized < comm->count);
    *state = failure ? failure : waits || launching ? in_progress : success;
    launching = false;
    return success;
  }
  static int finalize(Comm* comm) {
    comm->finalized = true;
    ++current->finalized;
    return in_progress;
  }
  static int destroy(Comm* comm) {
    if (!comm->finalized || current->finalized < comm->count) throw std::logic_error("a communicator that is in use");
    ++current->destroyed;
    delete comm;
    return success;
  }
  /// The work that waits for others ends. Streams may still have it, so that it is never freed.
  static int abort(Comm* comm) {
    ++current->aborted;
    while (current->blocking) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    comm->aborted = true;
    return success;
  }
  static int begin_group() {
    if (launching) throw std::logic_error("a call before the last one has ended");
    ++depth;
    return success;
  }
  static int end_group() {
    --depth;
    launching = true;
    return in_progress;
  }
  static int all_reduce(const void* part, void* sum, std::size_t count, int type, int op, Comm* comm,
                        CUstream_st* stream) {
    auto& of_gpu = *reinterpret_cast<HostStream*>(stream);
    if (depth != 1 || op != 0 || type != 7) throw std::logic_error("no sum in float32 within a group");
    if (!of_gpu.locked()) throw std::logic_error("others may queue something in between");
    if (of_gpu.recording()) throw std::logic_error("a sum for which the host waits, within a graph");
    if (count * sizeof(float) > most_bytes) throw std::logic_error("too large a sum for this test");
    of_gpu.expect_here(static_cast<const std::byte*>(part), count * sizeof(float));
    of_gpu.expect_here(static_cast<const std::byte*>(sum), count * sizeof(float));
    of_gpu.queue([=] { add_up(*comm, static_cast<const float*>(part), static_cast<float*>(sum), count); });
    return in_progress;
  }
  static const char* text(int status) {
    return status == remote_error    ? "remote process exited"
           : status == invalid_usage ? "invalid usage"
                                     : "unhandled cuda error";
  }

  /// Waits until all ranks have reached a number of sums. False if this one was aborted meanwhile.
  static bool await_all(const Comm& comm, const std::array<std::atomic<std::uint64_t>, most_ranks>& numbers,
                        std::uint64_t least) {
    for (int rank = 0; rank < comm.count; ++rank)
      while (numbers[static_cast<std::size_t>(rank)] < least) {
        if (comm.aborted) return false;
        std::this_thread::yield();
      }
    return true;
  }
  static void add_up(Comm& comm, const float* part, float* sum, std::size_t count) {
    const std::uint64_t turn = ++comm.sums;
    const auto own = static_cast<std::size_t>(comm.rank);
    auto& parts = current->parts[turn % 2];
    if (turn > 2 && !await_all(comm, current->completed, turn - 2)) return;
    std::memcpy(parts[own].data(), part, count * sizeof(float));
    current->given[own] = turn;
    if (!await_all(comm, current->given, turn)) return;
    for (std::size_t i = 0; i < count; ++i) {
      float total = 0;
      for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.count); ++rank) {
        float one;
        std::memcpy(&one, parts[rank].data() + i * sizeof one, sizeof one);
        total += one;
      }
      sum[i] = total;
    }
    current->completed[own] = turn;
  }

  State* state_;
};

/// A fake GPU whose second queue is executed by a thread, as by a GPU.
class ThreadedRuntime : public HostRuntime {
 public:
  std::unique_ptr<cuda::SideQueue> side_queue() override { return std::make_unique<Queue>(*this); }

 private:
  class Queue : public cuda::SideQueue, public HostStream {
   public:
    explicit Queue(HostRuntime& runtime) : runtime_(runtime) {}
    ~Queue() override {
      {
        const std::lock_guard lock(mutex_);
        ends_ = true;
      }
      changed_.notify_all();
      thread_.join();
    }
    CUstream_st* stream() override { return HostRuntime::handle(*this); }
    void follow() override {}  // the runtime's queue has executed all work
    void mark(std::size_t number) override {
      const std::lock_guard lock(mutex_);
      marks_[number] = queued_;
    }
    void lead(std::size_t number) override {
      if (!reached(number)) throw std::logic_error("later work, which this queue executes at once, before the sums");
    }
    bool reached(std::size_t number) override {
      const std::lock_guard lock(mutex_);
      return done_ >= marks_.at(number);
    }
    void wait() noexcept override {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return done_ == queued_; });
    }

    int gpu() const override { return runtime_.ordinal(); }
    bool locked() const override { return runtime_.locked(); }
    bool recording() const override { return runtime_.recording(); }
    void expect_here(const std::byte* memory, std::size_t bytes) const override { runtime_.expect_here(memory, bytes); }
    void queue(std::function<void()> work) override {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
      ++queued_;
      changed_.notify_all();
    }
    std::function<void()> so_far() override { throw std::logic_error("not for this fake"); }

   private:
    void run() {
      std::unique_lock lock(mutex_);
      while (true) {
        changed_.wait(lock, [&] { return !queue_.empty() || ends_; });
        if (queue_.empty()) return;
        const std::function<void()> work = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        work();
        lock.lock();
        ++done_;
        changed_.notify_all();
      }
    }

    HostRuntime& runtime_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_;
    std::size_t queued_ = 0, done_ = 0;
    std::map<std::size_t, std::size_t> marks_;
    bool ends_ = false;
    std::thread thread_{[this] { run(); }};
  };
};

/// A device on a fake GPU, which the fake NCCL connects with those of other processes.
class FakeGpu : public Cuda {
 public:
  /// `installed`: whether this process finds NCCL.
  explicit FakeGpu(bool installed = true)
      : Cuda("/gpu:0", std::make_unique<ThreadedRuntime>()), installed_(installed) {}
  std::shared_ptr<Collective> collective_over(std::shared_ptr<Workers> workers) const override {
    const auto find = [&]() -> const cuda::NcclWorkers::Functions& {
      check(installed_, ErrorKind::state, "Cuda", "no NCCL");
      return ProcessNccl::functions();
    };
    return std::make_shared<cuda::NcclWorkers>(find, const_cast<FakeGpu&>(*this).runtime(), std::move(workers), 64,
                                               std::chrono::seconds(3));
  }

 private:
  bool installed_;
};

}  // namespace etude::testing
