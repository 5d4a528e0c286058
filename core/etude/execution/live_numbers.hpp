#pragma once

#include <cstdint>
#include <vector>

#include "etude/execution/grouping.hpp"

namespace etude {

/// The nodes that a group's program computes, in order: its members, and what it computes again for them. `recomputed`
/// is empty where that is not known yet.
std::vector<NodeId> program_members(const Dataflow& flow, const Group& group, const IdFlags& recomputed);

/// Whether a thread would have more than `most` 32-bit numbers of a group's program at the same time. Programs of few
/// members without rows never have too many.
bool has_too_many_numbers(const Dataflow& flow, const Group& group, const IdFlags& recomputed, std::int64_t most);

}  // namespace etude
