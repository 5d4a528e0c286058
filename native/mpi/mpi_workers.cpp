#include "mpi/mpi_workers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "etude/base/dtype.hpp"

// Workers by MPI. Operations do not block, so that they can end at a deadline.
namespace etude {
namespace {

using std::chrono::steady_clock;

/// The most elements or bytes of one call: MPI counts with int.
constexpr std::size_t most_per_call = INT_MAX;

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(code, text.data(), &size);
  return {text.data(), static_cast<std::size_t>(size)};
}

/// Whether an operation of this program failed or is late. MPI_Finalize would wait for it.
std::atomic<bool> abandoned = false;

void initialize() {
  int is_initialized = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_initialized);
  if (!is_initialized) {
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    check(code == MPI_SUCCESS, ErrorKind::state, "connect_mpi_workers", "MPI_Init_thread failed: ", code,
          " - expected a program that mpirun, or another launcher of MPI, started - start it so.");
    std::atexit([] {
      if (!abandoned) MPI_Finalize();
    });
  }
  MPI_Query_thread(&provided);
  check(provided >= MPI_THREAD_SERIALIZED, ErrorKind::state, "connect_mpi_workers", "MPI for one thread only",
        " - expected MPI_THREAD_SERIALIZED or more - pass MPI_THREAD_MULTIPLE to MPI_Init_thread.");
}

/// The sum of two arrays of T, as an operation of MPI over elements of so many bytes.
template <class T> class Sum {
 public:
  Sum() {
    MPI_Type_contiguous(sizeof(T), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
    MPI_Op_create(add, 1, &operation_);
  }
  static const Sum& instance() {
    static const Sum sum;  // MPI frees it at its end
    return sum;
  }
  MPI_Datatype type() const { return type_; }
  MPI_Op operation() const { return operation_; }

 private:
  static void add(void* in, void* sums, int* count, MPI_Datatype*) {
    const T* const more = static_cast<const T*>(in);
    T* const sum = static_cast<T*>(sums);
    for (int i = 0; i < *count; ++i) sum[i] = static_cast<T>(more[i] + sum[i]);
  }

  MPI_Datatype type_{};
  MPI_Op operation_{};
};

class MpiWorkers : public Workers {
 public:
  MpiWorkers(MPI_Comm communicator, WorkerOptions options) : communicator_(communicator), options_(options) {
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &count_);
    run("connect", options_.connect_timeout,
        [&] { await([&](MPI_Request* one) { return MPI_Ibarrier(communicator_, one); }); });
  }
  ~MpiWorkers() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized && !failure_) MPI_Comm_free(&communicator_);
  }
  MpiWorkers(const MpiWorkers&) = delete;
  MpiWorkers& operator=(const MpiWorkers&) = delete;

  std::string_view name() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int count() const override { return count_; }

  void all_reduce(std::span<const ReplicaSum> bucket) override {
    run("all_reduce", options_.timeout, [&] {
      for (const ReplicaSum& value : bucket)
        visit_dtype(value.dtype, [&]<class T>(T) {
          sum(reinterpret_cast<const T*>(value.parts.front()), reinterpret_cast<T*>(value.sums.front()),
              static_cast<std::size_t>(value.count));
        });
    });
  }

  void broadcast(std::span<std::byte> memory) override {
    run("broadcast", options_.timeout, [&] {
      for (; !memory.empty(); memory = memory.subspan(std::min(memory.size(), most_per_call))) {
        const int size = static_cast<int>(std::min(memory.size(), most_per_call));
        await([&](MPI_Request* one) { return MPI_Ibcast(memory.data(), size, MPI_BYTE, 0, communicator_, one); });
      }
    });
  }

  void all_gather(std::span<const std::byte> own, std::span<const std::size_t> sizes, std::byte* all) override {
    run("all_gather", options_.timeout, [&] {
      // One broadcast of each process, because MPI_Allgatherv has offsets of at most 2 GB.
      for (int rank = 0; rank < count_; ++rank) {
        const std::size_t size = sizes[static_cast<std::size_t>(rank)];
        if (rank == rank_) std::ranges::copy(own, all);
        for (std::size_t at = 0; at < size; at += most_per_call) {
          const int part = static_cast<int>(std::min(size - at, most_per_call));
          await([&](MPI_Request* one) { return MPI_Ibcast(all + at, part, MPI_BYTE, rank, communicator_, one); });
        }
        all += size;
      }
    });
  }

  using Workers::all_gather;

 private:
  template <class T> void sum(const T* part, T* result, std::size_t count) {
    const Sum<T>& sum = Sum<T>::instance();
    for (std::size_t at = 0; at < count; at += most_per_call) {
      const int size = static_cast<int>(std::min(count - at, most_per_call));
      const void* const from = part == result ? MPI_IN_PLACE : static_cast<const void*>(part + at);
      await([&](MPI_Request* one) {
        return MPI_Iallreduce(from, result + at, size, sum.type(), sum.operation(), communicator_, one);
      });
    }
  }

  /// Starts an operation and waits until it ends, or until the deadline.
  template <class Start> void await(Start start) {
    MPI_Request request = MPI_REQUEST_NULL;
    int ended = 0;
    expect(start(&request));
    for (int turns = 0; expect(MPI_Test(&request, &ended, MPI_STATUS_IGNORE)), !ended; ++turns) {
      if (turns < 1000) continue;
      std::this_thread::yield();  // other processes may share this processor
      if (steady_clock::now() >= deadline_) throw std::runtime_error("a process did not take part before the deadline");
    }
  }
  static void expect(int code) {
    if (code != MPI_SUCCESS) throw std::runtime_error(text_of(code));
  }

  template <class Operation> void run(const char* name, std::chrono::milliseconds timeout, Operation operation) {
    const std::lock_guard lock(mutex_);
    if (failure_) throw CollectiveError(*failure_);
    deadline_ = steady_clock::now() + timeout;
    try {
      operation();
    } catch (const std::exception& error) {
      abandoned = true;
      failure_.emplace(-1, name, 0, error.what());
      throw CollectiveError(*failure_);
    }
  }

  MPI_Comm communicator_;
  WorkerOptions options_;
  int rank_ = 0, count_ = 1;
  std::mutex mutex_;  ///< Models on several threads may share a strategy.
  steady_clock::time_point deadline_;
  std::optional<CollectiveError> failure_;
};

}  // namespace

std::shared_ptr<Workers> connect_communicator(MPI_Comm communicator, WorkerOptions options) {
  return std::make_shared<MpiWorkers>(communicator, options);
}

std::shared_ptr<Workers> connect_mpi_workers(WorkerOptions options) {
  initialize();
  MPI_Comm communicator = MPI_COMM_NULL;
  const int code = MPI_Comm_dup(MPI_COMM_WORLD, &communicator);  // messages of the program are separate
  check(code == MPI_SUCCESS, ErrorKind::state, "connect_mpi_workers", "MPI_Comm_dup failed: ", text_of(code),
        " - expected processes that can communicate - start all of them by one launcher.");
  return connect_communicator(communicator, options);
}

}  // namespace etude
