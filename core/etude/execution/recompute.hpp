#pragma once

#include "etude/execution/device.hpp"
#include "etude/execution/grouping.hpp"

namespace etude {

/// The groups of a graph, and which of their nodes are stored.
struct Fused {
  Dataflow flow;
  Grouping grouping;
  /// Whether a node's value is needed outside its group: by another group, as a result, a log, or an assignment.
  IdFlags escapes = {};
  /// Whether programs of other groups recompute a node instead of reading it.
  IdFlags recomputed = {};
};

/// The fourth pass: nodes that are cheaper to recompute than to store are not stored. Such a node is a difference, a
/// product or a condition of Values that are in memory anyway. Without this pass, the forward half of a step would
/// store most of the Values that the backward half needs.
Fused recompute(Dataflow flow, Grouping grouping, const Wanted& wanted, const Device& device);

}  // namespace etude
