#pragma once

#include <functional>
#include <vector>

#include "etude/data/batch.hpp"
#include "etude/distribute/detail/per_replica.hpp"
#include "etude/graph/graph.hpp"
#include "etude/training/step.hpp"

namespace etude {

/// The results of a step: logs, and for predict its outputs.
struct StepResult {
  StepLogs logs;
  std::vector<Value> outputs;
};
using Step = std::function<StepResult(const StepData&)>;

/// A step that was traced for a shard of a batch.
struct TracedStep {
  Graph graph;
  StepResult result;

  TracedStep(const Shard& shard, bool multiplies_halves, const Batch& batch, const Step& step);
  std::vector<Value> logs() const;
};

/// Inputs of the graph like the tensors of a batch.
StepData input_values(Graph& graph, const Batch& batch);

/// A range of rows of all tensors of a batch.
Batch rows_of(const Batch& batch, RowRange rows);

/// Throws Error(state) with the op in which two traces of a step differ.
void check_alike(const TracedStep& first, const TracedStep& second);

/// The step with logs that are equal in all processes: the means of those that differ, so that a process can read them
/// alone.
Step with_common_logs(Step step);

}  // namespace etude
