#pragma once

#include <vector>

#include "etude/execution/placement.hpp"

namespace etude {

/// Appends the copies of the Values that a loop carries at first, then the loop.
void emit_loop(std::vector<Instruction>& list, const Placement& placement, int group);

}  // namespace etude
