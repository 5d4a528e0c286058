#pragma once

#include <cuda_runtime.h>

#include "etude/base/error.hpp"

namespace etude::cuda {

/// Throws Error if a call of CUDA's runtime has failed.
inline void expect(cudaError_t error, const char* what, ErrorKind kind = ErrorKind::internal) {
  check(error == cudaSuccess, kind, "Cuda", what, " failed: ", cudaGetErrorString(error),
        " - expected the GPU to do it - see what the driver reports.");
}

}  // namespace etude::cuda
