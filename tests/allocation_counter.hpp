#pragma once

#include <cstddef>

namespace etude {

/// How often any thread of this process has asked operator new for memory. A test takes the difference around the code
/// that must not.
std::size_t allocations();
/// Those of them that were not given back yet.
std::size_t live_allocations();

/// While it lives, the n-th request for `at_least` bytes or more is refused.
class FailingAllocation {
 public:
  FailingAllocation(std::ptrdiff_t nth, std::size_t at_least);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether there were as many.
  bool reached() const;
};

}  // namespace etude
