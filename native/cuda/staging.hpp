#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

#include "cuda/device_memory.hpp"

namespace etude::cuda {

/// Pinned memory between the host's memory and device memory. An upload is first copied to it, so that the host can
/// continue at once. A large upload is transferred concurrently with queued steps, to a buffer in device memory, from
/// which the queue copies it in order. Uploads use the slots in turn, so the host waits only for the last upload that
/// used the same slot. A download arrives in pinned memory: a GPU never writes to memory that the caller may free after
/// an error.
class Staging {
 public:
  /// `memory`: the memory of the GPU, which must outlive it.
  explicit Staging(DeviceMemory& memory) : memory_(memory) {}
  /// Waits for all queued work.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// The most bytes of an upload at a time.
  static constexpr std::size_t largest = std::size_t{4} << 20;
  /// The least bytes for which a concurrent transfer gains more than it costs.
  static constexpr std::size_t least_beside = std::size_t{64} << 10;

  /// Enqueues an upload of `bytes`, up to `largest`, on `queue`.
  void upload(std::byte* to, const void* from, std::size_t bytes, cudaStream_t queue);
  /// Returns when all work on `queue` is done, and `bytes` have arrived.
  void download(void* to, const std::byte* from, std::size_t bytes, cudaStream_t queue);

 private:
  struct Slot {
    void* on_host = nullptr;
    void* on_gpu = nullptr;
    std::size_t bytes = 0, bytes_on_gpu = 0;
    cudaEvent_t arrived = nullptr, done = nullptr;
  };
  /// The next slot, with `bytes` of pinned memory that no copy uses.
  Slot& take_slot(std::size_t bytes);
  /// Enqueues the copy from a slot to the GPU.
  void queue_upload(Slot& slot, std::byte* to, std::size_t bytes, cudaStream_t queue);
  /// Allocates a slot's buffer in device memory; false if there is not enough memory, and from then on.
  bool allocate_on_gpu(Slot& slot);

  DeviceMemory& memory_;
  std::array<Slot, 8> slots_;
  std::size_t next_ = 0;
  bool fits_ = true;
  cudaStream_t beside_ = nullptr;
};

}  // namespace etude::cuda
