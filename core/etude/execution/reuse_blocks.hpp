#pragma once

#include "etude/execution/placement.hpp"

namespace etude {

/// Lets blocks take over the memory of others that are read for the last time where they are written: a program's
/// output that of an input, a sum over replicas that of its summand.
void reuse_blocks(Placement& placement);

}  // namespace etude
