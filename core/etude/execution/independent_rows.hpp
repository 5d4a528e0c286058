#pragma once

#include <span>

#include "etude/execution/instruction.hpp"
#include "etude/graph/detail/loop.hpp"

namespace etude {

/// The number of rows of a loop's carried Values, if chunks of rows can run through all steps independently, at the
/// same time. That holds if a row of a step's results depends on no other row of the carried Values and of the step's
/// entries, and if the body's instructions work by rows. Else 0. `wanted`: the body's Values that the loop returns
/// besides the carried ones.
std::int64_t independent_rows(const Loop& loop, std::span<const NodeId> wanted, std::span<const Instruction> body);

}  // namespace etude
