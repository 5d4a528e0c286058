#pragma once

#include <optional>

#include "etude/execution/dataflow.hpp"
#include "etude/graph/detail/node.hpp"

/// Where kernels that read through strides find the elements of a Value.
namespace etude {

/// The strides of a transposed or repeated tensor within its operand; empty for other nodes.
std::optional<Shape> strides_through(const Graph& graph, const Node& node);

/// A node in memory, and the strides of a Value's axes in it.
struct StridedSource {
  NodeId node;
  Shape strides;
};
/// The source that a Value transposes or repeats, or its own memory.
StridedSource strided_source(const Dataflow& flow, NodeId id);

/// The strides of a product's axes where it is written: in the order of the Transpose that it is written as.
Shape written_strides(const Dataflow& flow, NodeId product);

}  // namespace etude
