#include "cuda/staging.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/expect.hpp"

namespace etude::cuda {

Staging::~Staging() {
  for (const Slot& slot : slots_) {
    for (const cudaEvent_t event : {slot.arrived, slot.done})
      if (event) cudaEventDestroy(event);
    if (slot.on_gpu) cudaFree(slot.on_gpu);
    if (slot.on_host) cudaFreeHost(slot.on_host);
  }
  if (beside_) cudaStreamDestroy(beside_);
}

bool Staging::allocate_on_gpu(Slot& slot) {
  if (slot.bytes_on_gpu == slot.bytes || !fits_) return fits_;
  if (!beside_) expect(cudaStreamCreateWithFlags(&beside_, cudaStreamNonBlocking), "making a stream");
  if (!slot.arrived) expect(cudaEventCreateWithFlags(&slot.arrived, cudaEventDisableTiming), "making an event");
  if (slot.on_gpu) expect(cudaFree(slot.on_gpu), "freeing memory");
  slot.on_gpu = nullptr;
  slot.bytes_on_gpu = 0;
  // Not from the pool: the second stream writes it, and the pool follows only the queue.
  const cudaError_t error = memory_.with_retry([&] { return cudaMalloc(&slot.on_gpu, slot.bytes); });
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // the next call must not report it
    return fits_ = false;
  }
  expect(error, "allocating memory");
  slot.bytes_on_gpu = slot.bytes;
  return true;
}

Staging::Slot& Staging::take_slot(std::size_t bytes) {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  if (!slot.done) expect(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming), "making an event");
  expect(cudaEventSynchronize(slot.done), "waiting for a copy");
  if (slot.bytes < bytes) {
    if (slot.on_host) expect(cudaFreeHost(slot.on_host), "freeing host memory");
    slot.on_host = nullptr;
    slot.bytes = 0;
    const cudaError_t error = cudaMallocHost(&slot.on_host, bytes);
    if (error != cudaSuccess)
      fail_call(error, ("allocating " + std::to_string(bytes) + " bytes of the host's memory").c_str());
    slot.bytes = bytes;
  }
  return slot;
}

void Staging::upload(std::byte* to, const void* from, std::size_t bytes, cudaStream_t queue) {
  Slot& slot = take_slot(bytes);
  std::memcpy(slot.on_host, from, bytes);
  try {
    queue_upload(slot, to, bytes, queue);
  } catch (...) {
    if (beside_) cudaStreamSynchronize(beside_);  // so that nothing reads the slot when it is used again
    cudaStreamSynchronize(queue);
    cudaGetLastError();
    throw;
  }
}

void Staging::download(void* to, const std::byte* from, std::size_t bytes, cudaStream_t queue) {
  struct Piece {
    Slot* slot = nullptr;
    std::size_t first = 0, bytes = 0;
  };
  try {
    Piece in_transit;  // while it is transferred, the previous piece is copied
    for (std::size_t first = 0; first < bytes || in_transit.slot; first += largest) {
      Piece next{nullptr, first, std::min(bytes - std::min(first, bytes), largest)};
      if (next.bytes > 0) {
        next.slot = &take_slot(next.bytes);
        expect(cudaMemcpyAsync(next.slot->on_host, from + first, next.bytes, cudaMemcpyDeviceToHost, queue),
               "a download");
        expect(cudaEventRecord(next.slot->done, queue), "recording an event");
      }
      if (in_transit.slot) {
        expect(cudaEventSynchronize(in_transit.slot->done), "what was queued before a download");
        std::memcpy(static_cast<std::byte*>(to) + in_transit.first, in_transit.slot->on_host, in_transit.bytes);
      }
      in_transit = next;
    }
  } catch (...) {
    cudaStreamSynchronize(queue);  // so that nothing writes to a slot when it is used again
    cudaGetLastError();
    throw;
  }
}

void Staging::queue_upload(Slot& slot, std::byte* to, std::size_t bytes, cudaStream_t queue) {
  if (bytes >= least_beside && allocate_on_gpu(slot)) {
    expect(cudaMemcpyAsync(slot.on_gpu, slot.on_host, bytes, cudaMemcpyHostToDevice, beside_), "an upload");
    expect(cudaEventRecord(slot.arrived, beside_), "recording an event");
    expect(cudaStreamWaitEvent(queue, slot.arrived, 0), "waiting for an upload");
    expect(cudaMemcpyAsync(to, slot.on_gpu, bytes, cudaMemcpyDeviceToDevice, queue), "a copy");
  } else {
    expect(cudaMemcpyAsync(to, slot.on_host, bytes, cudaMemcpyHostToDevice, queue), "an upload");
  }
  expect(cudaEventRecord(slot.done, queue), "recording an event");
}

}  // namespace etude::cuda
