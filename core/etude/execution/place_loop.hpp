#pragma once

#include <functional>

#include "etude/execution/device.hpp"
#include "etude/execution/placement.hpp"

namespace etude {

/// Compiles the body of a loop.
using CompileBody = std::function<Lowered(const Graph& body, const Wanted& wanted)>;

/// Places the Values of a loop. The body is compiled separately, to instructions on spaces whose addresses change from
/// step to step. A carried Value is stored in a row of entries. A step reads one entry and writes the next, so no step
/// copies it, and the row holds its value at every step.
void place_loop(Placement& placement, const Device& device, int group, int position, const CompileBody& compile_body);

}  // namespace etude
