#pragma once

#include "etude/execution/dataflow.hpp"

namespace etude {

/// The second pass. Results, outputs and assigned values are computed in the step. Nodes that only logs need are
/// computed with the logs, unless the step overwrites their operands. Nodes between the operands and the results of
/// attention are never computed.
Dataflow find_dataflow(const Graph& graph, const Wanted& wanted, AttentionPatterns attention = {});

}  // namespace etude
