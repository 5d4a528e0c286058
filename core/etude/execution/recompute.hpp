#pragma once

#include "etude/execution/device.hpp"
#include "etude/execution/grouping.hpp"

namespace etude {

/// Which nodes are computed together, and what of them is stored.
struct Fused {
  Dataflow flow;
  Grouping grouping;
  /// Whether a node's value is wanted outside its group: by another one, as a result, a log, or an assignment.
  IdFlags escapes = {};
  /// Whether programs of other groups compute a node again instead of reading it.
  IdFlags recomputed = {};
};

/// The third pass: what is cheaper to compute again than to store is not stored. It is a difference, a product or a
/// condition of what lies in memory anyway. Without this pass a step would store most of what its backward half needs
/// during its forward half.
Fused recompute(Dataflow flow, Grouping grouping, const Wanted& wanted, const Device& device);

}  // namespace etude
