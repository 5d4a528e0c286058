#pragma once

#include <memory>

#include "cuda/nccl.hpp"
#include "host_stream.hpp"

/// A fake NCCL on the host, after NVIDIA's documentation of its functions, for streams of fake GPUs. A rank executes
/// its part of a sum when its stream reaches it. Throws std::logic_error for calls that might make the real NCCL wait
/// for ever.
namespace etude::testing::host_nccl {

/// The number of communicators that are not destroyed yet, of aborted ones, and of those that were destroyed before all
/// their sums were done.
struct Counts {
  int alive = 0, aborted = 0, destroyed_early = 0;
};
Counts& counts();

/// The result of the next sum:
int& next_status();

/// A rank's call, on a stream of its GPU.
int all_reduce(std::shared_ptr<HostStream> stream, const void* part, void* sum, std::size_t count, int type, int op,
               cuda::Nccl::Communicator communicator);
/// All functions. `all_reduce` calls that one.
cuda::Nccl::Functions functions(decltype(cuda::Nccl::Functions::all_reduce) all_reduce);

}  // namespace etude::testing::host_nccl
