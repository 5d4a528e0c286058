#pragma once

#include <functional>

#include "etude/execution/device.hpp"
#include "etude/execution/placement.hpp"

namespace etude {

/// Compiles the body of a loop.
using CompileBody = std::function<Lowered(const Graph& body, const Wanted& wanted)>;

/// Places what a loop computes. The body is compiled by itself, to instructions on spaces whose addresses change from
/// step to step. A carried Value lies in a row of entries. A step reads one and writes the next, so nothing is copied
/// from step to step, and the row holds what the Value was at every step.
void place_loop(Placement& placement, const Device& device, int group, int position, const CompileBody& compile_body);

}  // namespace etude
