#pragma once

#include <vector>

#include "etude/graph/detail/node_id.hpp"
#include "etude/graph/detail/op.hpp"

namespace etude {

/// An op in a graph, with its operands.
struct Node {
  /// The op that computes it.
  Op op;
  /// The nodes of its operands.
  std::vector<NodeId> inputs;
  /// The extents of its result.
  Shape shape;
  /// The element type of its result.
  DType dtype;
};

}  // namespace etude
