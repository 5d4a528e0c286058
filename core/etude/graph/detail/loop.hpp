#pragma once

#include <cstdint>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude {

/// The body of a loop over time, traced once for all steps. Its inputs are, in this order, the carried Values, the
/// step's entry of each sequence, and the constants.
struct Loop {
  /// For a trace with the same shard and the same device support as `around`.
  explicit Loop(const Graph& around) : body(around.shard(), around.multiplies_halves()) {}

  Graph body;
  std::int64_t steps = 0;
  bool reverse = false;  ///< from the last entry of the sequences to the first
  int carries = 0, sequences = 0, constants = 0;
  std::vector<NodeId> next;  ///< the next Value of each carried Value

  int inputs() const { return carries + sequences + constants; }
  /// The carried Value whose next Value is a body node; -1 if there is none.
  int carry_after(NodeId node) const;
  int carry_before(NodeId node) const;
};

}  // namespace etude
