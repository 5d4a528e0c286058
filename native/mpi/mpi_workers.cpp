#include "mpi/mpi_workers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "etude/base/dtype.hpp"

// Workers by MPI. They use its operations that do not block, so that a wait can end at a deadline.
namespace etude {
namespace {

using std::chrono::steady_clock;

/// The most bytes of one operation of MPI.
constexpr std::size_t most_bytes = 25 << 20;

std::string text_of(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(code, text.data(), &size);
  return {text.data(), static_cast<std::size_t>(size)};
}

/// Whether an operation of this program failed. MPI_Finalize would wait for it.
std::atomic<bool> has_failed = false;

void initialize() {
  int is_initialized = 0, provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_initialized);
  if (!is_initialized) {
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    check(code == MPI_SUCCESS, ErrorKind::state, "connect_mpi_workers", "MPI_Init_thread failed: ", code,
          " - expected a program that mpirun, or another launcher of MPI, started - use such a launcher.");
    std::atexit([] {
      if (!has_failed) MPI_Finalize();
    });
  }
  MPI_Query_thread(&provided);
  check(provided >= MPI_THREAD_SERIALIZED, ErrorKind::state, "connect_mpi_workers", "MPI for one thread only",
        " - expected MPI_THREAD_SERIALIZED or more - pass MPI_THREAD_MULTIPLE to MPI_Init_thread.");
}

/// MPI's operation that adds two arrays of T, and its type of the elements.
template <class T> class Sum {
 public:
  Sum() {
    MPI_Type_contiguous(sizeof(T), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
    MPI_Op_create(add, 1, &operation_);
  }
  static const Sum& instance() {
    static const Sum sum;  // MPI_Finalize frees both
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
      while (!bucket.empty()) {
        const DType dtype = bucket.front().dtype;
        const auto end = std::ranges::find_if(bucket, [&](const ReplicaSum& value) { return value.dtype != dtype; });
        const auto count = static_cast<std::size_t>(end - bucket.begin());
        visit_dtype(dtype, [&]<class T>(T) { sum<T>(bucket.first(count)); });
        bucket = bucket.subspan(count);
      }
    });
  }

  void broadcast(std::span<std::byte> memory) override {
    run("broadcast", options_.timeout, [&] { broadcast_from(0, memory.data(), memory.size()); });
  }

  void all_gather(std::span<const std::byte> own, std::span<const std::size_t> sizes, std::byte* all) override {
    run("all_gather", options_.timeout, [&] {
      for (int rank = 0; rank < count_; ++rank) {
        const std::size_t size = sizes[static_cast<std::size_t>(rank)];
        if (rank == rank_) std::ranges::copy(own, all);
        broadcast_from(rank, all, size);
        all += size;
      }
    });
  }

  using Workers::all_gather;

  void watch(const char* operation, steady_clock::time_point began) override {
    if (failure_ || steady_clock::now() - began >= options_.timeout)
      give_up(operation, "a process did not take part before the deadline", false);
  }
  void give_up(const char* operation, const std::string& cause, bool own) override {
    run(operation, options_.timeout, [&] {
      if (own) throw CollectiveError(rank_, operation, 0, cause);
      throw std::runtime_error(cause);
    });
  }

 private:
  /// Sums values of one dtype, as many in one operation as fit.
  template <class T> void sum(std::span<const ReplicaSum> values) {
    struct Piece {
      std::byte* sum;
      std::size_t bytes;
    };
    std::vector<Piece> pieces;
    std::size_t staged = 0;
    const auto add_up = [&] {
      if (staged == 0) return;
      await([&](MPI_Request* one) {
        return MPI_Iallreduce(MPI_IN_PLACE, staging_.data(), static_cast<int>(staged / sizeof(T)),
                              Sum<T>::instance().type(), Sum<T>::instance().operation(), communicator_, one);
      });
      const std::byte* from = staging_.data();
      for (const Piece& piece : pieces) {
        std::copy_n(from, piece.bytes, piece.sum);
        from += piece.bytes;
      }
      pieces.clear();
      staged = 0;
    };
    for (const ReplicaSum& value : values) {
      const std::size_t bytes = static_cast<std::size_t>(value.count) * sizeof(T);
      for (std::size_t at = 0; at < bytes;) {
        const std::size_t size = std::min(bytes - at, most_bytes - staged);
        std::copy_n(value.parts.front() + at, size, stage(staged + size) + staged);
        pieces.push_back({value.sums.front() + at, size});
        staged += size;
        at += size;
        if (staged == most_bytes) add_up();
      }
    }
    add_up();
  }

  /// Overwrites the memory of all processes by that of one.
  void broadcast_from(int root, std::byte* memory, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += most_bytes) {
      const std::size_t size = std::min(bytes - at, most_bytes);
      std::byte* const staged = stage(size);
      if (rank_ == root) std::copy_n(memory + at, size, staged);
      await([&](MPI_Request* one) {
        return MPI_Ibcast(staged, static_cast<int>(size), MPI_BYTE, root, communicator_, one);
      });
      if (rank_ != root) std::copy_n(staged, size, memory + at);
    }
  }

  /// The memory on which operations work, with at least so many bytes.
  std::byte* stage(std::size_t bytes) {
    if (staging_.size() < bytes) staging_.resize(bytes);
    return staging_.data();
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
    } catch (const CollectiveError& error) {
      has_failed = true;
      failure_.emplace(error);
      throw;
    } catch (const std::exception& error) {
      has_failed = true;
      // MPI may still write to the memory of the operation, so that memory is never freed.
      static_cast<void>(new std::vector<std::byte>(std::move(staging_)));
      failure_.emplace(-1, name, 0, error.what());
      throw CollectiveError(*failure_);
    }
  }

  MPI_Comm communicator_;
  WorkerOptions options_;
  int rank_ = 0, count_ = 1;
  std::mutex mutex_;  ///< Models on several threads may share a strategy.
  steady_clock::time_point deadline_;
  std::vector<std::byte> staging_;
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
