#pragma once

#include "etude/execution/placement.hpp"

namespace etude {

/// The last pass: the instructions, now that it is known where everything lies. `wanted` are the nodes as they were
/// asked for: a base may be shaped otherwise.
Lowered emit(const Placement& placement, const Wanted& wanted);

/// What the kernel at the head of a group becomes, without workspace and epilogue.
Instruction lower_anchor(const Placement& placement, int group);

/// Appends the copies of the first carried Values, then the loop (loop_emission.cpp).
void emit_loop(std::vector<Instruction>& list, const Placement& placement, int group);

}  // namespace etude
