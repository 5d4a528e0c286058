#pragma once

#include <cstddef>

namespace etude {

/// The number of calls of operator new by all threads of this process. A test takes the difference around code that
/// must not allocate.
std::size_t allocations();
/// The allocations that are not freed yet.
std::size_t live_allocations();
/// The bytes of all allocations, including freed ones.
std::size_t allocated_bytes();

/// During its lifetime, the n-th request for `at_least` bytes or more fails.
class FailingAllocation {
 public:
  FailingAllocation(std::ptrdiff_t nth, std::size_t at_least);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether there were n such requests.
  bool reached() const;
  /// The number of such requests so far.
  std::ptrdiff_t requests() const;

 private:
  const std::ptrdiff_t nth_;
};

/// During its lifetime, watches the bytes that are allocated in it and not freed yet.
class WatchedMemory {
 public:
  WatchedMemory();
  ~WatchedMemory();
  WatchedMemory(const WatchedMemory&) = delete;
  WatchedMemory& operator=(const WatchedMemory&) = delete;
  /// The most of them so far.
  std::size_t peak() const;
};

/// During its lifetime, every request for more than `bytes` fails.
class LimitedAllocations {
 public:
  explicit LimitedAllocations(std::size_t bytes);
  ~LimitedAllocations();
  LimitedAllocations(const LimitedAllocations&) = delete;
  LimitedAllocations& operator=(const LimitedAllocations&) = delete;
};

}  // namespace etude
