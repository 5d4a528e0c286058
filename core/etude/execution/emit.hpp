#pragma once

#include "etude/execution/dataflow.hpp"
#include "etude/execution/lowered.hpp"
#include "etude/execution/placement.hpp"

namespace etude {

/// The last pass: the instructions, now that it is known where everything lies. `wanted` are the nodes as they were
/// asked for: a base may be shaped otherwise.
Lowered emit(const Placement& placement, const Wanted& wanted);

}  // namespace etude
