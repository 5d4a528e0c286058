#pragma once

#include <cstddef>

namespace etude {

/// How often any thread of this process has asked operator new for memory. A test takes the difference around the code
/// that must not.
std::size_t allocations();
/// Those of them that were not given back yet.
std::size_t live_allocations();
/// How many bytes they have asked for, those included that were given back.
std::size_t allocated_bytes();

/// While it lives, the n-th request for `at_least` bytes or more is refused.
class FailingAllocation {
 public:
  FailingAllocation(std::ptrdiff_t nth, std::size_t at_least);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether there were as many.
  bool reached() const;
  /// How many there were so far.
  std::ptrdiff_t requests() const;

 private:
  const std::ptrdiff_t nth_;
};

/// While it lives, every request for more than `bytes` is refused.
class LimitedAllocations {
 public:
  explicit LimitedAllocations(std::size_t bytes);
  ~LimitedAllocations();
  LimitedAllocations(const LimitedAllocations&) = delete;
  LimitedAllocations& operator=(const LimitedAllocations&) = delete;
};

}  // namespace etude
