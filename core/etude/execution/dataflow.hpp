#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "etude/execution/attention_pattern.hpp"
#include "etude/execution/id_vector.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// When a node is computed: in every step, or only when the logs are read.
enum class Phase : std::uint8_t { never, step, logs };

/// The nodes that a graph is compiled for: nodes whose values can be read after a step; nodes that are computed when
/// the logs are read; and nodes that a loop's body writes to the spaces behind its inputs, one each.
struct Wanted {
  std::vector<NodeId> results = {}, logs = {}, outputs = {};
};

/// For each node of a graph: when it is computed, which nodes must be computed before it, and whether it needs memory.
/// All vectors are indexed by node.
struct Dataflow {
  const Graph& graph;
  /// Attention that is computed by separate instructions.
  AttentionPatterns attention = {};
  /// The node that owns a node's bytes: a Reshape is a view of its operand. A node that owns its bytes is a base.
  IdVector<NodeId> base = {};
  /// The Transpose in whose order a matrix product writes its result, or -1. The product is then the Transpose's base.
  IdVector<NodeId> written_as = {};
  /// The number of all-reduces before a node. The plans of all replicas are divided at the same places.
  IdVector<int> level = {};
  IdVector<Phase> phase = {};
  /// Whether a node must be stored in memory.
  IdFlags in_memory = {};
  /// Whether the kernel that reads a node computes it: a PoolScatter that only gradients of convolutions read.
  IdFlags inlined = {};
  /// The bases that must be in memory, or in the same group, before a node can be computed.
  IdVector<std::vector<NodeId>> dependencies = {};
  /// The nodes that depend on a node, once for each operand that reads it.
  IdVector<std::vector<NodeId>> readers = {};

  NodeId count() const { return static_cast<NodeId>(graph.nodes().size()); }
  bool is_base(NodeId id) const { return base[id] == id; }
  /// The nodes that a node is computed from: its inputs, or for a node of attention the operands of its instruction.
  std::span<const NodeId> operands(NodeId id) const {
    return attention.at(id) ? attention.operands(id) : std::span<const NodeId>(graph.node(id).inputs);
  }
};

}  // namespace etude
