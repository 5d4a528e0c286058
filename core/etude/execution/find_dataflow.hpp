#pragma once

#include "etude/execution/dataflow.hpp"

namespace etude {

/// The first pass. Results, outputs and assigned values are computed in the step. Nodes that only logs need are
/// computed with the logs, unless the step overwrites their operands.
Dataflow find_dataflow(const Graph& graph, const Wanted& wanted);

}  // namespace etude
