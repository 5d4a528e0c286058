#pragma once

#include "cuda/nccl.hpp"

/// A fake NCCL on the host, after NVIDIA's documentation of its functions, for the fake GPUs there (HostRuntime).
/// Throws std::logic_error for calls that might make the real one wait for ever.
namespace etude::testing::host_nccl {

/// The communicators that are not destroyed yet, and the number of aborted ones.
struct Counts {
  int alive = 0, aborted = 0;
};
Counts& counts();

/// The result of the next sum:
int& next_status();

}  // namespace etude::testing::host_nccl
