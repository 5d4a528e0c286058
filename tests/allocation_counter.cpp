#include "allocation_counter.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

std::atomic<std::size_t> count{0}, freed{0}, requested{0};
/// The number of large requests before one fails, and the size of a large request.
std::atomic<std::ptrdiff_t> until_refusal{0};
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
std::atomic<std::size_t> large{none}, limit{none};

/// Of WatchedMemory. Blocks that are older and freed meanwhile would make `watched` negative.
std::atomic<bool> watching{false};
std::atomic<std::ptrdiff_t> watched{0}, most_watched{0};

void watch(void* memory, std::ptrdiff_t sign) {
  if (!watching.load(std::memory_order_relaxed) || !memory) return;
  const std::ptrdiff_t bytes = sign * static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  const std::ptrdiff_t now = watched.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::ptrdiff_t most = most_watched.load(std::memory_order_relaxed);
  while (now > most && !most_watched.compare_exchange_weak(most, now)) {
  }
}

bool is_refused(std::size_t bytes) {
  if (bytes > limit.load(std::memory_order_relaxed)) return true;
  return bytes >= large.load(std::memory_order_relaxed) && until_refusal.fetch_sub(1) == 1;
}

void count_request(std::size_t bytes) {
  count.fetch_add(1, std::memory_order_relaxed);
  requested.fetch_add(bytes, std::memory_order_relaxed);
}

void* allocate_or_null(std::size_t bytes) {
  count_request(bytes);
  void* memory = std::malloc(std::max<std::size_t>(bytes, 1));
  watch(memory, 1);
  return memory;
}

void* allocate(std::size_t bytes) {
  if (is_refused(bytes)) throw std::bad_alloc();
  if (void* memory = allocate_or_null(bytes)) return memory;
  throw std::bad_alloc();
}

void* allocate(std::size_t bytes, std::align_val_t alignment) {
  if (is_refused(bytes)) throw std::bad_alloc();
  count_request(bytes);
  const auto align = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  // aligned_alloc requires a multiple of the alignment.
  void* memory = std::aligned_alloc(align, (std::max<std::size_t>(bytes, 1) + align - 1) / align * align);
  if (!memory) throw std::bad_alloc();
  watch(memory, 1);
  return memory;
}

void release(void* memory) {
  if (!memory) return;
  freed.fetch_add(1, std::memory_order_relaxed);
  watch(memory, -1);
  std::free(memory);
}

}  // namespace

std::size_t etude::allocations() { return count.load(std::memory_order_relaxed); }
std::size_t etude::live_allocations() { return allocations() - freed.load(std::memory_order_relaxed); }

std::size_t etude::allocated_bytes() { return requested.load(std::memory_order_relaxed); }

etude::WatchedMemory::WatchedMemory() {
  watched = most_watched = 0;
  watching = true;
}
etude::WatchedMemory::~WatchedMemory() { watching = false; }
std::size_t etude::WatchedMemory::peak() const { return static_cast<std::size_t>(most_watched.load()); }

etude::LimitedAllocations::LimitedAllocations(std::size_t bytes) { limit = bytes; }
etude::LimitedAllocations::~LimitedAllocations() { limit = none; }

etude::FailingAllocation::FailingAllocation(std::ptrdiff_t nth, std::size_t at_least) : nth_(nth) {
  until_refusal = nth;
  large = at_least;
}
etude::FailingAllocation::~FailingAllocation() { large = none; }
bool etude::FailingAllocation::reached() const { return until_refusal <= 0; }
std::ptrdiff_t etude::FailingAllocation::requests() const { return nth_ - until_refusal; }

// The standard library's other forms call these; a sanitizer's own nothrow forms would not.
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate(bytes, alignment); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
