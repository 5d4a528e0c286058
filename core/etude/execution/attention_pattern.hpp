#pragma once

#include <span>
#include <vector>

#include "etude/base/detail/device_libraries.hpp"
#include "etude/execution/id_vector.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// Nodes of a graph that compute softmax(scale · query · keyᵀ + absent where the mask is false) · value, and those that
/// compute its gradients. Nothing else needs the nodes between them.
struct AttentionPattern {
  NodeId query = -1, key = -1, value = -1;
  NodeId mask = -1;  ///< boolean; -1 if there is none
  double scale = 1, absent = 0;
  NodeId weights = -1;  ///< the Softmax. An instruction stores its rows' statistics in its place.
  NodeId output = -1;
  NodeId d_output = -1;                           ///< -1 if no gradient is computed
  NodeId d_query = -1, d_key = -1, d_value = -1;  ///< -1 for those that are not computed
  /// The inputs of the instruction of `output`, and those of the instruction of the gradients.
  std::vector<NodeId> operands = {}, gradient_operands = {};

  bool is_gradient(NodeId id) const { return id == d_query || id == d_key || id == d_value; }
};

/// All patterns of a graph, by node.
class AttentionPatterns {
 public:
  /// Adds a pattern; `count` is the number of nodes in the graph.
  void add(const AttentionPattern& pattern, std::size_t count);
  /// The pattern of which a node is the output, the weights or a gradient; null for other nodes.
  const AttentionPattern* at(NodeId id) const { return has_device_libraries ? find(id) : nullptr; }
  /// The pattern of which a node is the weights; null for other nodes.
  const AttentionPattern* of_weights(NodeId id) const {
    const AttentionPattern* pattern = at(id);
    return pattern && pattern->weights == id ? pattern : nullptr;
  }
  /// The nodes that a node of a pattern is computed from. The weights are computed with the output.
  std::span<const NodeId> operands(NodeId id) const;

  const std::vector<AttentionPattern>& all() const { return all_; }

 private:
  const AttentionPattern* find(NodeId id) const;

  std::vector<AttentionPattern> all_;
  IdVector<int> index_;  ///< in all_, by node; -1 for other nodes. Empty if there are none.
};

}  // namespace etude
