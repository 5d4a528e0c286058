#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cuda/runtime.hpp"
#include "cuda/shared_library.hpp"
#include "etude/base/collective.hpp"

struct CUstream_st;

namespace etude::cuda {

/// All-reduces replicas on several GPUs of this machine, one on each, by NVIDIA's NCCL. Each GPU's part is enqueued
/// after its earlier work, and the host waits for none. The work of start() runs on a second queue of each GPU,
/// concurrently with later work. Source: nccl.h, for the functions and numbers here; they have not changed since its
/// version 2.10.
class Nccl : public Collective {
 public:
  using Status = int;  ///< 0: success
  using Communicator = struct ncclComm*;

  /// The library's functions.
  struct Functions {
    Status (*create_all)(Communicator*, int count, const int* gpus);
    Status (*destroy)(Communicator);
    Status (*abort)(Communicator);
    Status (*begin_group)();
    Status (*end_group)();
    Status (*all_reduce)(const void* part, void* sum, std::size_t count, int type, int op, Communicator, CUstream_st*);
    const char* (*text)(Status);

    static Functions of(const SharedLibrary& library);
  };
  /// The functions of the installed NCCL. Throws Error(state) if there is none.
  static const Functions& installed();

  /// The type of a dtype that ops::all_reduce accepts.
  static int type_of(DType dtype);

  /// The least bytes of a bucket: with more, an all-reduce is bound by the links between the GPUs.
  static constexpr std::size_t usual_bucket = std::size_t{4} << 20;

  /// Connects the GPUs of `runtimes`, which must outlive it. Throws Error(state) if NCCL cannot connect them.
  Nccl(const Functions& functions, std::vector<Runtime*> runtimes, std::size_t bucket_bytes = usual_bucket);
  ~Nccl() override;
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  std::string_view name() const override { return "NcclAllReduce"; }
  bool queued() const override { return true; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;
  std::size_t bucket_bytes() const override { return bucket_bytes_; }
  void start(std::span<const ReplicaSum> bucket, int number) override;
  void await(int number, std::size_t replica) override;

 private:
  using Streams = std::vector<CUstream_st*>;
  /// Enqueues the sums on one stream of each GPU. All runtimes are locked.
  void enqueue(std::span<const ReplicaSum> bucket, const Streams& streams);
  const std::vector<Communicator>& communicators(std::size_t replicas);
  void expect(Status status, const char* what) const;

  Functions functions_;
  std::vector<Runtime*> runtimes_;
  std::vector<Runtime*> sorted_;                                    ///< in the order of locking
  std::vector<std::unique_ptr<SideQueue>> sides_;                   ///< one for each runtime
  std::map<std::size_t, std::vector<Communicator>> communicators_;  ///< by the number of GPUs in the all-reduce
  std::size_t bucket_bytes_;
  bool failed_ = false;
};

}  // namespace etude::cuda
