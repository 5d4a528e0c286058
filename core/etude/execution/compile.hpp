#pragma once

#include "etude/execution/dataflow.hpp"
#include "etude/execution/device.hpp"
#include "etude/execution/lowered.hpp"
#include "etude/execution/schedule.hpp"

namespace etude {

/// Compiles a graph to instructions, by passes from value to value:
///
///     find_dataflow  Dataflow   what each node needs, and when it is computed
///     form_groups    Grouping   which nodes are computed together
///     recompute      Fused      what is computed again instead of stored
///     build_programs Programs   elementwise nodes as register programs
///     make_schedule  Schedule   the order of instructions
///     place          Placement  where everything lies
///     emit           Lowered    the instructions
///
/// A loop's body is compiled by the same passes.
Lowered compile(const Graph& graph, const Wanted& wanted, const Device& device, const Replica& replica = {});
/// The passes before placement.
Scheduled schedule(const Graph& graph, const Wanted& wanted, const Device& device);

}  // namespace etude
