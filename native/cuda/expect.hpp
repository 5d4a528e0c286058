#pragma once

#include <cuda_runtime.h>

#include "etude/base/error.hpp"

namespace etude::cuda {

/// Throws Error for a failed call of CUDA's runtime or driver. Clears CUDA's last error, so that the next call does not
/// report it. Lack of memory is Error(state), with the free memory: smaller work may succeed. After an illegal access
/// and similar errors, a GPU returns the same error from every call: Error(state), with the first call that returned
/// it.
[[noreturn]] void fail_call(cudaError_t error, const char* what, ErrorKind kind = ErrorKind::internal);

/// Throws it for `what`, a failed call of a library, if the current GPU returns such an error from every call.
void fail_if_lost(const char* what);

inline void expect(cudaError_t error, const char* what, ErrorKind kind = ErrorKind::internal) {
  if (error != cudaSuccess) [[unlikely]]
    fail_call(error, what, kind);
}

}  // namespace etude::cuda
