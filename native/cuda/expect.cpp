#include "cuda/expect.hpp"

#include <map>
#include <mutex>
#include <string>

namespace etude::cuda {
namespace {

/// Errors that a process cannot recover from. Source: enum cudaError in the CUDA Runtime API.
bool loses_gpu(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return true;
    default: return false;
  }
}

/// The first call that failed with such an error on the current GPU.
std::string first_failed_call(const char* what) {
  static std::mutex mutex;
  static std::map<int, std::string>& firsts = *new std::map<int, std::string>;
  int gpu = 0;
  cudaGetDevice(&gpu);
  const std::lock_guard lock(mutex);
  return firsts.try_emplace(gpu, what).first->second;
}

}  // namespace

void fail_call(cudaError_t error, const char* what, ErrorKind kind) {
  const char* const text = cudaGetErrorString(error);
  cudaGetLastError();
  if (error == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    cudaGetLastError();
    fail(ErrorKind::state, "Cuda", what, " failed, out of memory: ", free, " of the GPU's ", total,
         " bytes are free - expected more - pass smaller batches or a smaller model.");
  }
  if (loses_gpu(error))
    fail(ErrorKind::state, "Cuda", what, " failed: ", text, ", first by ", first_failed_call(what),
         " - expected a working GPU - start the program again, and see the driver's log.");
  fail(kind, "Cuda", what, " failed: ", text, " - expected success - see the driver's log.");
}

void fail_if_lost(const char* what) {
  std::size_t free = 0, total = 0;
  const cudaError_t error = cudaMemGetInfo(&free, &total);
  if (loses_gpu(error)) fail_call(error, what);
  cudaGetLastError();
}

}  // namespace etude::cuda
