#pragma once

#include "etude/execution/placement.hpp"

namespace etude {

/// Lets blocks reuse the memory of blocks that are read for the last time by the same instruction: a program's output
/// that of an input, the sum of an all-reduce that of its summand.
void reuse_blocks(Placement& placement);

}  // namespace etude
