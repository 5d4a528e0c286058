#pragma once

#include <string>
#include <utility>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude {

/// A batch within a trace: one Value per input and per output, and none or one weight per output. If targets by name
/// omit an output, its target is an empty Value.
struct StepData {
  /// The Values of inputs, targets and sample weights; of weights there may be none.
  std::vector<Value> x, y, sample_weight;
};

/// The logs of a step: names and scalars.
using StepLogs = std::vector<std::pair<std::string, Value>>;

}  // namespace etude
