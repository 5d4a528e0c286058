#pragma once

#include <cuda_runtime.h>

#include "etude/base/error.hpp"

namespace etude::cuda {

/// Throws Error for a call of CUDA's runtime or driver that has failed. CUDA's last error is cleared, so that it is not
/// taken for the next call's. Without memory it is Error(state), which says how much is free: smaller work may succeed.
/// After an illegal access and its like, a GPU answers every call with the same error: Error(state), which names the
/// call that was answered so first.
[[noreturn]] void fail_call(cudaError_t error, const char* what, ErrorKind kind = ErrorKind::internal);

/// Throws it for `what`, which a library was asked for and failed to do, if the current GPU answers every call with
/// such an error.
void fail_if_lost(const char* what);

inline void expect(cudaError_t error, const char* what, ErrorKind kind = ErrorKind::internal) {
  if (error != cudaSuccess) [[unlikely]]
    fail_call(error, what, kind);
}

}  // namespace etude::cuda
