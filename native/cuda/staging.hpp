#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

namespace etude::cuda {

/// The host's memory on its way to a GPU: copied where the GPU can fetch it while the host goes on. What is large
/// crosses the bus beside the steps that are queued, to memory of the GPU from where the queue takes it when its turn
/// has come. Uploads take turns, so that the host waits only for one that lies some turns back.
class Staging {
 public:
  Staging() = default;
  /// After everything that was queued.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// As many bytes at a time, at most.
  static constexpr std::size_t largest = std::size_t{4} << 20;
  /// From as many bytes on it gains more to go beside than it costs.
  static constexpr std::size_t least_beside = std::size_t{64} << 10;

  /// Queues `bytes`, up to `largest`, behind what is queued on `queue`.
  void upload(std::byte* to, const void* from, std::size_t bytes, cudaStream_t queue);

 private:
  struct Slot {
    void* on_host = nullptr;
    void* on_gpu = nullptr;
    std::size_t bytes = 0, bytes_on_gpu = 0;
    cudaEvent_t arrived = nullptr, done = nullptr;
  };
  /// Queues the way from a slot to the GPU.
  void queue_upload(Slot& slot, std::byte* to, std::size_t bytes, cudaStream_t queue);
  /// The memory beside the host's; false where the GPU has no room for it, and from then on.
  bool make_room_on_gpu(Slot& slot);

  std::array<Slot, 8> slots_;
  std::size_t next_ = 0;
  bool has_room_ = true;
  cudaStream_t beside_ = nullptr;
};

}  // namespace etude::cuda
