#pragma once

#include "etude/execution/dataflow.hpp"
#include "etude/execution/device.hpp"
#include "etude/execution/lowered.hpp"
#include "etude/execution/schedule.hpp"

namespace etude {

/// Compiles a graph to instructions, by passes from value to value:
///
///     find_attention AttentionPatterns  attention that the device computes by separate instructions
///     find_dataflow  Dataflow   the dependencies of each node, and when it is computed
///     form_groups    Grouping   the nodes that are computed together
///     recompute      Fused      the nodes that are recomputed instead of stored
///     build_programs Programs   elementwise nodes as register programs
///     make_schedule  Schedule   the order of instructions
///     place          Placement  the memory of each node
///     emit           Lowered    the instructions
///
/// A loop's body is compiled by the same passes.
Lowered compile(const Graph& graph, const Wanted& wanted, const Device& device, const Replica& replica = {});
/// The passes before placement.
Scheduled schedule(const Graph& graph, const Wanted& wanted, const Device& device, const Buckets& buckets = {});

}  // namespace etude
