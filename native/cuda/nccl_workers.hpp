#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string_view>

#include "cuda/nccl.hpp"
#include "etude/distribute/workers.hpp"

namespace etude::cuda {

/// All-reduces GPUs of several processes, one of each, by NVIDIA's NCCL. NCCL waits for ever for a process that has
/// ended. So the host waits for each sum, and asks the workers meanwhile whether all processes are there; if not, it
/// aborts the sums. Source: nccl.h, for the functions and numbers here; they have not changed since its version 2.14.
class NcclWorkers : public Collective {
 public:
  using Status = Nccl::Status;
  using Communicator = Nccl::Communicator;

  /// By which NCCL's processes find each other. Source: ncclUniqueId.
  struct UniqueId {
    char bytes[128];
  };
  /// The beginning of ncclConfig_t: no call waits for another process.
  struct Config {
    std::size_t size;
    unsigned magic, version;
    int blocking;
    int padding;
  };
  /// The library's functions for one process, and those for several.
  struct Functions : Nccl::Functions {
    Status (*version)(int*);
    Status (*make_id)(UniqueId*);
    Status (*create)(Communicator*, int count, UniqueId id, int rank, Config*);
    Status (*state)(Communicator, Status* state);
    Status (*finalize)(Communicator);

    static Functions of(const SharedLibrary& library);
  };
  /// The functions of the installed NCCL. Throws Error(state) if there is none, or if it is older than 2.19: in those,
  /// abort may wait for a process that has ended.
  static const Functions& installed();

  /// Connects the GPU of `runtime`, which must outlive it, with those of the other processes, which call it too.
  /// `functions` finds the library. Throws Error(state), in all processes, if NCCL is not installed in one of them, or
  /// cannot connect the GPUs within `limit`; CollectiveError if a process fails.
  NcclWorkers(const std::function<const Functions&()>& functions, Runtime& runtime, std::shared_ptr<Workers> workers,
              std::size_t bucket_bytes = Nccl::usual_bucket,
              std::chrono::milliseconds limit = std::chrono::seconds(60));
  ~NcclWorkers() override;
  NcclWorkers(const NcclWorkers&) = delete;
  NcclWorkers& operator=(const NcclWorkers&) = delete;

  std::string_view name() const override { return "NcclAllReduce"; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;
  std::size_t bucket_bytes() const override { return bucket_bytes_; }
  void start(std::span<const ReplicaSum> bucket, int number) override;
  void await(int number, std::size_t replica) override;

 private:
  void connect(std::chrono::milliseconds limit);
  /// Enqueues sums on the second queue, and marks their end.
  void enqueue(std::span<const ReplicaSum> bucket, std::size_t mark);
  /// Waits until the work before a mark is done.
  void wait_for(std::size_t mark);
  /// Whether NCCL still works on its last call. Throws for an error of the sum.
  bool is_busy();
  /// Throws CollectiveError for a status of a sum that is an error.
  void expect_sum(Status status);
  /// Throws CollectiveError if the workers find out within a second that a process has failed.
  void await_failure();
  /// Calls `done` until it returns true. Throws CollectiveError if a process fails meanwhile.
  template <class Done> void wait_until(const char* operation, Done done);
  /// Calls `operation`. If it fails, ends all sums, and lets those of the other processes fail.
  template <class Operation> void or_abort(Operation operation);
  /// Ends the communicator after its last sum, if all processes do.
  void close();
  /// Ends all sums.
  void abort() noexcept;

  const Functions* functions_ = nullptr;
  Runtime& runtime_;
  std::shared_ptr<Workers> workers_;
  std::size_t bucket_bytes_;
  Communicator communicator_ = nullptr;
  std::unique_ptr<SideQueue> side_;
  std::set<const void*> started_;  ///< buckets
};

}  // namespace etude::cuda
