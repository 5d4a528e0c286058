#pragma once

#include <span>

#include "etude/execution/instruction.hpp"
#include "etude/graph/loop.hpp"

namespace etude {

/// How many rows a loop's carried Values have, if a row of what a step computes depends on no other row of them, nor of
/// the step's entries, and the body's instructions work by rows: then stretches of rows can go through all steps by
/// themselves, at the same time. 0: they cannot. `wanted`: the body's Values that the loop gives besides the carried
/// ones.
std::int64_t independent_rows(const Loop& loop, std::span<const NodeId> wanted, std::span<const Instruction> body);

}  // namespace etude
