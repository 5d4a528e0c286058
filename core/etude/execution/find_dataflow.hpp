#pragma once

#include "etude/execution/dataflow.hpp"

namespace etude {

/// The first pass. Results, outputs and assigned values are computed in the step. What only logs need, and the step
/// does not overwrite, is computed with the logs.
Dataflow find_dataflow(const Graph& graph, const Wanted& wanted);

}  // namespace etude
