#pragma once

#include <cstddef>

namespace etude {

/// How often any thread of this process has asked operator new for memory. A test takes the difference around the code
/// that must not.
std::size_t allocations();
/// Those of them that were not given back yet.
std::size_t live_allocations();

}  // namespace etude
