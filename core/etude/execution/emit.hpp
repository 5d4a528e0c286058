#pragma once

#include "etude/execution/dataflow.hpp"
#include "etude/execution/lowered.hpp"
#include "etude/execution/placement.hpp"

namespace etude {

/// The last pass: makes the instructions from a placement. `wanted` are the nodes as they were requested; their bases
/// may have other shapes.
Lowered emit(const Placement& placement, const Wanted& wanted);

}  // namespace etude
