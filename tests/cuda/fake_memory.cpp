#include <cuda_runtime.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "fake/state.hpp"

// The fake of CUDA's memory: separate blocks, and pools.

namespace {

using namespace etude;
using namespace etude::testing::fake;

constexpr int arbitrary = 0xff;  // the contents of unwritten memory: NaN in every type

/// Whether the range lies in one block, of `size_of_block` bytes.
template <class Blocks> bool within(const Blocks& blocks, const void* memory, std::size_t bytes, auto size_of_block) {
  const auto* first = static_cast<const std::byte*>(memory);
  const auto after = blocks.upper_bound(first);
  return after != blocks.begin() && first + bytes <= std::prev(after)->first + size_of_block(std::prev(after)->second);
}
bool on_host(const void* memory, std::size_t bytes) {
  return within(state.host_blocks, memory, bytes, [](std::size_t size) { return size; });
}

/// The bytes of the blocks for which `counts` holds.
std::size_t sum_of(auto counts, std::size_t Block::* size = &Block::capacity) {
  std::size_t bytes = 0;
  for (const auto& [memory, block] : state.blocks) bytes += counts(block) ? block.*size : 0;
  return bytes;
}
std::size_t used(int device) {
  return sum_of([&](const Block& block) { return block.device == device; });
}
std::size_t reserved(cudaMemPool_t pool) {
  return sum_of([&](const Block& block) { return block.pool == pool; });
}

/// A new block of the current GPU; null if it does not fit.
Block* reserve(void** memory, std::size_t bytes) {
  if (used(current) + bytes > state.room) return nullptr;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*memory, arbitrary, bytes);
  ++state.reservations;
  return &(state.blocks[static_cast<std::byte*>(*memory)] = {.device = current, .bytes = bytes});
}

auto erase(std::map<const std::byte*, Block>::iterator block) {
  std::free(const_cast<std::byte*>(block->first));
  return state.blocks.erase(block);
}

/// Frees unused blocks of a pool until it has at most `most` bytes.
void shrink(cudaMemPool_t pool, std::size_t most) {
  for (auto block = state.blocks.begin(); block != state.blocks.end() && reserved(pool) > most;) {
    const bool is_free = block->second.pool == pool && !block->second.is_allocated && !block->second.is_usable;
    block = is_free ? erase(block) : std::next(block);
  }
}

/// The smallest free block of the pool that is large enough. A stream can reuse its own freed memory at once; that of
/// another stream, when that stream has executed the free.
std::map<const std::byte*, Block>::iterator find_free(cudaMemPool_t pool, std::size_t bytes, cudaStream_t stream) {
  auto found = state.blocks.end();
  for (auto one = state.blocks.begin(); one != state.blocks.end(); ++one) {
    const Block& block = one->second;
    if (block.pool != pool || block.is_allocated || block.capacity < bytes) continue;
    if (block.is_usable && block.freed_on != stream) continue;
    if (found == state.blocks.end() || block.capacity < found->second.capacity) found = one;
  }
  return found;
}

}  // namespace

bool etude::testing::fake::is_allocated(const void* memory, std::size_t bytes) {
  return within(state.blocks, memory, bytes, [](const Block& block) { return block.is_allocated ? block.bytes : 0; });
}

bool etude::testing::fake::is_usable(const void* memory, std::size_t bytes) {
  return within(state.blocks, memory, bytes, [](const Block& block) { return block.is_usable ? block.capacity : 0; });
}

void etude::testing::fake::shrink_pools(int device) {
  for (const auto& [handle, pool] : state.pools)
    if (pool->device == device) shrink(handle, pool->threshold);
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  return reserve(memory, bytes) ? cudaSuccess : said(cudaErrorMemoryAllocation);
}

/// Waits for the GPU.
cudaError_t cudaFree(void* memory) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  const auto found = state.blocks.find(static_cast<std::byte*>(memory));
  if (found == state.blocks.end() || found->second.pool) return said(cudaErrorInvalidValue);
  for (const auto& [handle, stream] : state.streams)
    if (stream->device == found->second.device) run_to(*stream, stream->queued);
  erase(found);
  return result();
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (!state.has_pools) return said(cudaErrorNotSupported);
  const cudaMemLocation& location = properties->location;
  if (properties->allocType != cudaMemAllocationTypePinned || location.type != cudaMemLocationTypeDevice)
    return said(cudaErrorInvalidValue);
  const auto made = std::make_shared<CUmemPoolHandle_st>();
  made->device = location.id;
  *pool = made.get();
  state.pools[*pool] = made;
  return cudaSuccess;
}

/// Blocks that a stream has not freed yet are freed with the others.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const std::lock_guard lock(state.mutex);
  for (auto block = state.blocks.begin(); block != state.blocks.end();) {
    const bool is_free = block->second.pool == pool && !block->second.is_allocated;
    block = is_free && (state.lost || !block->second.is_usable) ? erase(block) : std::next(block);
  }
  return state.pools.erase(pool) == 1 ? result() : said(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (attribute != cudaMemPoolAttrReleaseThreshold) return said(cudaErrorInvalidValue);
  std::memcpy(&pool->threshold, value, sizeof pool->threshold);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  const std::uint64_t bytes =
      attribute == cudaMemPoolAttrReservedMemCurrent
          ? reserved(pool)
          : sum_of([&](const Block& block) { return block.pool == pool && block.is_allocated; }, &Block::bytes);
  std::memcpy(value, &bytes, sizeof bytes);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  for (std::size_t i = 0; i < count; ++i) {
    if (access[i].location.id == pool->device || !state.peers_reach_each_other) return said(cudaErrorInvalidDevice);
    if (access[i].flags != cudaMemAccessFlagsProtReadWrite) return said(cudaErrorInvalidValue);
    pool->readers.insert(access[i].location.id);
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t keep) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  shrink(pool, keep);
  return cudaSuccess;
}

/// This fake has no allocations of graphs: a capture forbids these two calls.
cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (bytes == 0 || pool->device != current) return said(cudaErrorInvalidValue);
  Block* block = nullptr;
  if (const auto found = find_free(pool, bytes, stream); found != state.blocks.end()) {
    *memory = const_cast<std::byte*>(found->first);
    block = &found->second;
    block->bytes = bytes;
    block->is_allocated = true;
  } else {
    block = reserve(memory, bytes);
    if (!block) return said(cudaErrorMemoryAllocation);
    block->pool = pool;
    block->is_usable = false;
  }
  return queue(stream, [block] {
    if (block->is_usable) throw std::logic_error("memory is used again that a stream has not freed yet");
    block->is_usable = true;
  });
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  const auto found = state.blocks.find(static_cast<std::byte*>(memory));
  if (found == state.blocks.end() || !found->second.is_allocated) return said(cudaErrorInvalidValue);
  found->second.is_allocated = false;
  found->second.freed_on = stream;
  const cudaError_t queued = queue(stream, [found] {
    Block& block = found->second;
    std::memset(const_cast<std::byte*>(found->first), arbitrary, block.capacity);
    block.is_usable = false;
    if (!state.pools.contains(block.pool)) erase(found);
  });
  return queued == cudaSuccess ? result() : queued;
}

cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  *memory = std::malloc(bytes);
  state.host_blocks[static_cast<std::byte*>(*memory)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  const std::lock_guard lock(state.mutex);
  if (captures()) return said(cudaErrorStreamCaptureUnsupported);
  if (state.host_blocks.erase(static_cast<std::byte*>(memory)) == 0) return said(cudaErrorInvalidValue);
  std::free(memory);
  return result();
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  *total = state.room;
  *free = state.room - used(current);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  if (!is_allocated(memory, bytes)) return said(cudaErrorInvalidValue);
  return queue(stream, [=] {
    if (!is_usable(memory, bytes)) throw std::logic_error("memory is set that is gone");
    std::memset(memory, value, bytes);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = fault(); error != cudaSuccess) return error;
  const std::lock_guard lock(state.mutex);
  const bool up = kind == cudaMemcpyHostToDevice, down = kind == cudaMemcpyDeviceToHost;
  if ((!down && !is_allocated(to, bytes)) || (!up && !is_allocated(from, bytes))) return said(cudaErrorInvalidValue);
  const auto copy = [=] {
    if ((!down && !is_usable(to, bytes)) || (!up && !is_usable(from, bytes)))
      throw std::logic_error("a copy of memory that is gone");
    std::memmove(to, from, bytes);
    if (up) state.uploaded += bytes;
  };
  if (up && !on_host(from, bytes)) {  // memory that may change as soon as this returns
    if (captures()) return said(cudaErrorStreamCaptureUnsupported);
    return queue(stream, [to, own = copy_of(from, bytes)] {
      std::memcpy(to, own.data(), own.size());
      state.uploaded += own.size();
    });
  }
  if (const cudaError_t queued = queue(stream, copy); queued != cudaSuccess) return queued;
  return down && !on_host(to, bytes) ? cudaStreamSynchronize(stream) : cudaSuccess;
}
