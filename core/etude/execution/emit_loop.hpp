#pragma once

#include <vector>

#include "etude/execution/placement.hpp"

namespace etude {

/// Appends the copies of the initial carried Values, then the loop.
void emit_loop(std::vector<Instruction>& list, const Placement& placement, int group);

}  // namespace etude
