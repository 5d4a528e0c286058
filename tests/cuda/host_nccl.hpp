#pragma once

#include "cuda/nccl.hpp"

/// NCCL, played on the host by what NVIDIA documents of its functions, for GPUs that are played there (HostRuntime).
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
