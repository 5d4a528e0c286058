#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "cuda/runtime.hpp"
#include "cuda/shared_library.hpp"
#include "etude/execution/collective.hpp"

struct CUstream_st;

namespace etude::cuda {

/// Joins replicas on several GPUs of this machine, one on each, by NVIDIA's NCCL: each GPU's part is queued behind what
/// it has to do before, and the host waits for none. Source: nccl.h, of which the functions and numbers here are; they
/// have been the same since its version 2.10.
class Nccl : public Collective {
 public:
  using Status = int;  ///< 0: as wanted
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
  /// Those of the NCCL that is installed. Throws Error(state) where none is.
  static const Functions& installed();

  /// Joins replicas on the GPUs behind `runtimes`, which must outlive it. Throws Error(state) where NCCL does not get
  /// them together.
  Nccl(const Functions& functions, std::vector<Runtime*> runtimes);
  ~Nccl() override;
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  std::string_view name() const override { return "NcclAllReduce"; }
  bool queued() const override { return true; }
  void all_reduce(std::span<const ReplicaSum> bucket) override;

 private:
  const std::vector<Communicator>& communicators(std::size_t replicas);
  void expect(Status status, const char* what) const;

  Functions functions_;
  std::vector<Runtime*> runtimes_;
  std::vector<Runtime*> sorted_;                                    ///< as they are locked
  std::map<std::size_t, std::vector<Communicator>> communicators_;  ///< by how many of the GPUs join
  bool failed_ = false;
};

}  // namespace etude::cuda
