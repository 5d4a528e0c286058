#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>

namespace etude::cuda {

/// Pinned memory between the host's memory and a GPU's. An upload is copied there, so that the host goes on at once.
/// A large one crosses the bus beside the steps that are queued, to memory of the GPU from where the queue takes it
/// when its turn has come. Uploads take turns, so that the host waits only for one that lies some turns back. A
/// download arrives there: a GPU never writes to memory that the caller may free after an error.
class Staging {
 public:
  Staging() = default;
  /// After everything that was queued.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// As many bytes of an upload at a time, at most.
  static constexpr std::size_t largest = std::size_t{4} << 20;
  /// From as many bytes on it gains more to go beside than it costs.
  static constexpr std::size_t least_beside = std::size_t{64} << 10;

  /// Queues `bytes`, up to `largest`, behind what is queued on `queue`.
  void upload(std::byte* to, const void* from, std::size_t bytes, cudaStream_t queue);
  /// Returns when everything that is queued on `queue` is done, and `bytes` have arrived.
  void download(void* to, const std::byte* from, std::size_t bytes, cudaStream_t queue);

 private:
  struct Slot {
    void* on_host = nullptr;
    void* on_gpu = nullptr;
    std::size_t bytes = 0, bytes_on_gpu = 0;
    cudaEvent_t arrived = nullptr, done = nullptr;
  };
  /// The next slot, with room for `bytes` of the host's memory that no copy uses.
  Slot& take_slot(std::size_t bytes);
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
