#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "etude/data/batch.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// A batch within a trace: one Value per input and per output, and none or one weight per output. If targets or weights
/// by name omit an output, its target or weight is an empty Value.
struct StepData {
  /// The Values of inputs, targets and sample weights; of weights there may be none.
  std::vector<Value> x, y, sample_weight;
  /// The names of those that are a dict, in their order.
  BatchNames names = {};
};

/// The batch with Values by name in the order of a model's inputs and outputs (places_of()). Outputs without a target
/// or a weight get an empty Value. Without `inputs`, or without `outputs`, their Values stay as they are.
StepData in_order(StepData data, std::span<const std::string> inputs, std::span<const std::string> outputs);

/// The logs of a step: names and scalars.
using StepLogs = std::vector<std::pair<std::string, Value>>;

}  // namespace etude
