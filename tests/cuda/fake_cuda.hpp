#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/choices.hpp"
#include "cuda/nccl.hpp"
#include "cuda/runtime.hpp"

/// A fake CUDA on the host. It executes the work of a stream only when the host waits for it, or at once if a test
/// requires it (early()). So it reveals code that relies on another time of execution, and code that frees memory which
/// queued work still reads: memory of a pool gets other contents when its stream frees it. It fails copies of memory
/// that was not allocated, work of a GPU that is not the current one, and calls that a capture forbids.
namespace etude::testing::fake {

/// Handles and blocks that are not freed yet.
struct Alive {
  int streams = 0, events = 0, graphs = 0, programs = 0, pools = 0, blocks = 0, host_blocks = 0;
  friend bool operator==(const Alive&, const Alive&) = default;
};
Alive alive();

/// The device memory of each GPU, in bytes.
std::size_t& room();
/// Whether graphs can be allocated.
bool& room_for_graphs();

/// Whether streams created from now on execute their work at once.
bool& early();
/// If not 0, streams execute some of their work while the host queues more: a random amount, by a generator with this
/// state.
std::uint64_t& pace();
/// Whether GPUs that are opened from now on have memory pools. Default: true.
bool& has_pools();
/// Whether GPUs can access each other's memory. Default: true.
bool& peers_reach_each_other();
/// Whether the work of a GPU can access this memory of another one.
bool reaches(int gpu, const std::byte* memory);
/// The number of blocks of device memory allocated on the GPUs so far, by pools and by cudaMalloc.
std::size_t reservations();
/// The bytes that were uploaded so far.
std::size_t uploaded();

/// NVTX's ranges.
struct Ranges {
  std::vector<std::string> begun;  ///< all so far, each with the names of those around it: "epoch/step"
  std::vector<std::string> open;   ///< names, the innermost last
};
Ranges& ranges();

enum class Fault {
  no_memory,         ///< once
  out_of_resources,  ///< once; cudaErrorLaunchOutOfResources
  invalid_value,     ///< once
  lost,              ///< an illegal access, after which every call fails
  lost_in_queue      ///< the same, by queued work: counts items of the queue, not calls
};
/// Makes the call of CUDA with this number, counted from 1 from now on, fail. 0: no call fails, and all GPUs work
/// again.
void fail_call(std::int64_t number, Fault fault = Fault::no_memory);
/// Whether that call was made.
bool has_failed();
/// Whether runtimes that are opened from now on have the fake cuBLASLt, whose calls fail as CUDA's do. Default: false.
bool& has_products();
/// The same for the fake cuDNN.
bool& has_convolutions();
/// The choices on the fake GPUs: runtimes that are opened from now on measure algorithms. Default: null.
std::shared_ptr<cuda::Choices>& choices();
/// The model of the last runtime that requested them.
const std::string& measured_model();

/// The fake NCCL, for streams of this CUDA. Its sums are executed in the order of the streams.
const cuda::Nccl::Functions& nccl();

/// A GpuRuntime, the class of real GPUs, on one of the two fake GPUs.
std::unique_ptr<cuda::Runtime> runtime(int ordinal = 0);

}  // namespace etude::testing::fake
