#include "cuda/device_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "etude/base/error.hpp"

namespace etude::cuda {
namespace {

/// A pool on a GPU that keeps all memory it has allocated; null if the GPU has no pools.
cudaMemPool_t make_pool(int ordinal) {
  int supported = 0;
  expect(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, ordinal),
         "reading the support of memory pools", ErrorKind::state);
  if (supported == 0) return nullptr;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  cudaMemPool_t pool = nullptr;
  expect(cudaMemPoolCreate(&pool, &properties), "making a memory pool", ErrorKind::state);
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  const cudaError_t set = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
  if (set != cudaSuccess) cudaMemPoolDestroy(pool);
  expect(set, "setting up a memory pool", ErrorKind::state);
  return pool;
}

std::uint64_t attribute(cudaMemPool_t pool, cudaMemPoolAttr which) {
  std::uint64_t value = 0;
  expect(cudaMemPoolGetAttribute(pool, which, &value), "asking a memory pool");
  return value;
}

}  // namespace

DeviceMemory::DeviceMemory(int ordinal, cudaStream_t stream)
    : ordinal_(ordinal), stream_(stream), pool_(make_pool(ordinal)) {}

DeviceMemory::~DeviceMemory() {
  if (pool_) cudaMemPoolDestroy(pool_);
}

std::byte* DeviceMemory::allocate(std::size_t bytes) {
  check(!holds_, ErrorKind::internal, "Cuda", bytes,
        " bytes while work is recorded - expected memory that was allocated before - this is a defect of the library.");
  if (freed_.capacity() <= allocated_) freed_.reserve(2 * allocated_ + 16);  // so that free() never allocates
  void* memory = nullptr;
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  const cudaError_t error = with_retry([&] { return allocate_once(&memory, wanted); });
  if (error == cudaErrorMemoryAllocation) fail_for_lack(wanted);
  expect(error, "allocating memory");
  const cudaError_t cleared = cudaMemsetAsync(memory, 0, wanted, stream_);
  if (cleared != cudaSuccess) free_now(static_cast<std::byte*>(memory));
  expect(cleared, "clearing memory");
  ++allocated_;
  return static_cast<std::byte*>(memory);
}

void DeviceMemory::fail_for_lack(std::size_t bytes) const {
  cudaGetLastError();  // the next call must not report it
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  fail(ErrorKind::state, "/gpu:" + std::to_string(ordinal_), bytes, " bytes, of which ", free,
       " are free - expected them to fit in its memory of ", total, " - pass smaller batches or a smaller model.");
}

cudaError_t DeviceMemory::allocate_once(void** memory, std::size_t bytes) const {
  return pool_ ? cudaMallocFromPoolAsync(memory, bytes, pool_, stream_) : cudaMalloc(memory, bytes);
}

void DeviceMemory::free(std::byte* memory) noexcept {
  if (holds_) return freed_.push_back(memory);  // a recording in which memory is freed is invalid
  free_now(memory);
  --allocated_;
}

void DeviceMemory::free_now(std::byte* memory) noexcept {
  pool_ ? cudaFreeAsync(memory, stream_) : cudaFree(memory);  // after all queued work
  cudaGetLastError();
  may_keep_ = pool_ != nullptr;
}

void DeviceMemory::let_go() noexcept {
  holds_ = false;
  for (std::byte* memory : freed_) free(memory);
  freed_.clear();
}

std::size_t DeviceMemory::available() const {
  std::size_t free = 0, total = 0;
  expect(cudaMemGetInfo(&free, &total), "reading the free memory");
  if (!pool_) return free;
  return free + attribute(pool_, cudaMemPoolAttrReservedMemCurrent) - attribute(pool_, cudaMemPoolAttrUsedMemCurrent);
}

bool DeviceMemory::trim() {
  if (!may_keep_) return false;
  expect(cudaStreamSynchronize(stream_), "what was queued");  // so that the stream no longer uses the memory
  expect(cudaMemPoolTrimTo(pool_, 0), "giving memory back");
  may_keep_ = false;
  return true;
}

void DeviceMemory::share_with(std::span<const int> gpus) {
  if (!pool_) return;
  for (const int gpu : gpus) {
    int can = 0;
    if (gpu != ordinal_) expect(cudaDeviceCanAccessPeer(&can, gpu, ordinal_), "asking what a GPU can access");
    if (can == 0) continue;
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = gpu;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    expect(cudaMemPoolSetAccess(pool_, &access, 1), "sharing memory with another GPU");
  }
}

}  // namespace etude::cuda
