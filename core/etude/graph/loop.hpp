#pragma once

#include <cstdint>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude {

/// The body of a loop over time, traced once for all steps. Its inputs are, in this order, the carried Values, the
/// step's entry of each sequence, and the constants.
struct Loop {
  /// For a trace of the same kind as `around`.
  explicit Loop(const Graph& around) : body(around.share(), around.multiplies_halves()) {}

  Graph body;
  std::int64_t steps = 0;
  bool reverse = false;  ///< from the last entry of the sequences to the first
  int carries = 0, sequences = 0, constants = 0;
  std::vector<NodeId> next;  ///< what each carried Value becomes

  int inputs() const { return carries + sequences + constants; }
  /// Which carried Value a body node is the next one of, or is; -1 where it is none.
  int carry_after(NodeId node) const;
  int carry_before(NodeId node) const;
};

}  // namespace etude
