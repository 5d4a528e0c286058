#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <vector>

#include "cuda/expect.hpp"

namespace etude::cuda {

/// The device memory of a GPU, for the work of one stream. It comes from a pool of CUDA: it is allocated and freed in
/// the order of the stream, so that neither call waits for the GPU, and the pool keeps free memory for the next
/// allocation. On a GPU without pools, each call is one of cudaMalloc or cudaFree. Its GPU must be the current one.
/// Source: CUDA Programming Guide, "Stream-Ordered Memory Allocator".
class DeviceMemory {
 public:
  DeviceMemory(int ordinal, cudaStream_t stream);
  /// All work of the stream must be done.
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Zeroed memory. Throws Error(state) if there is not enough, Error(internal) between hold() and let_go(): a
  /// recording would own the memory.
  std::byte* allocate(std::size_t bytes);
  /// Later work of the stream must not use it. Between hold() and let_go() it stays allocated.
  void free(std::byte* memory) noexcept;
  /// Called before the stream's work is recorded.
  void hold() noexcept { holds_ = true; }
  bool holds() const noexcept { return holds_; }
  /// Frees the memory passed to free() since hold().
  void let_go() noexcept;

  /// The bytes available to allocate(): the free memory of the GPU, and that of the pool.
  std::size_t available() const;
  /// Lets other GPUs access all memory of the pool, as far as they can. NCCL accesses buffers of another GPU in the
  /// same process directly; the pool's owner must allow it (NCCL's documentation of NCCL_P2P_DIRECT_DISABLE).
  void share_with(std::span<const int> gpus);

  /// Waits for the stream, and frees all unused memory of the pool; false if nothing was freed since the last call.
  bool trim();
  /// The result of `allocate`, an allocation by other means. If it fails for lack of memory, it is called once more
  /// after trim().
  template <class Allocate> cudaError_t with_retry(Allocate allocate) {
    const cudaError_t error = allocate();
    if (error != cudaErrorMemoryAllocation) return error;
    cudaGetLastError();  // the next call must not report it
    return trim() ? allocate() : error;
  }

 private:
  cudaError_t allocate_once(void** memory, std::size_t bytes) const;
  [[noreturn]] void fail_for_lack(std::size_t bytes) const;
  void free_now(std::byte* memory) noexcept;

  int ordinal_;
  cudaStream_t stream_;
  cudaMemPool_t pool_ = nullptr;
  bool holds_ = false;
  bool may_keep_ = false;          ///< whether the pool may keep memory that it does not use
  std::size_t allocated_ = 0;      ///< blocks
  std::vector<std::byte*> freed_;  ///< since hold(); its capacity suffices for all blocks
};

}  // namespace etude::cuda
