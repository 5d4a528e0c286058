#pragma once

#include <cstdint>
#include <vector>

#include "etude/execution/grouping.hpp"

namespace etude {

/// The nodes that a group's program computes, in order: its members, and the nodes that it recomputes for them.
/// `recomputed` is empty before that pass.
std::vector<NodeId> program_members(const Dataflow& flow, const Group& group, const IdFlags& recomputed);

/// Whether a thread would hold more than `most` 32-bit numbers of a group's program at the same time. False for
/// programs of few members without rows.
bool has_too_many_numbers(const Dataflow& flow, const Group& group, const IdFlags& recomputed, std::int64_t most);

}  // namespace etude
