#pragma once

#include "cuda/nccl.hpp"

/// A fake NCCL on the host, after NVIDIA's documentation of its functions, for the fake GPUs there (HostRuntime).
/// Throws std::logic_error for what would make the real one wait for ever, or might.
namespace etude::testing::host_nccl {

/// Communicators that nobody has ended yet, and how many were given up.
struct Counts {
  int alive = 0, aborted = 0;
};
Counts& counts();

/// What the next sum says: 0, or the number of an error.
int& next_status();

}  // namespace etude::testing::host_nccl
