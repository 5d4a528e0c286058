#include "etude/execution/strided_source.hpp"

#include "etude/execution/access.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

std::optional<Shape> strides_through(const Graph& graph, const Node& node) {
  const auto* transpose = std::get_if<op::Transpose>(&node.op);
  if (!transpose && !std::holds_alternative<op::Broadcast>(node.op)) return std::nullopt;
  const Shape& from = graph.node(node.inputs[0]).shape;
  const Shape inner = etude::strides(from);
  Shape strides = node.shape;
  for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(strides.rank()); ++axis) {
    const std::ptrdiff_t own = axis - static_cast<std::ptrdiff_t>(strides.rank() - from.rank());
    if (transpose)
      strides[axis] = inner[transpose->order[static_cast<std::size_t>(axis)]];
    else
      strides[axis] = own >= 0 && from[own] != 1 ? inner[own] : 0;
  }
  return strides;
}

StridedSource strided_source(const Dataflow& flow, NodeId id) {
  const Shape& shape = flow.graph.node(id).shape;
  const NodeId base = flow.base[id];
  const Node& node = flow.graph.node(base);
  const std::optional<Shape> through = node.shape == shape ? strides_through(flow.graph, node) : std::nullopt;
  if (through) return {flow.base[node.inputs[0]], *through};
  return {base, flow.written_as[base] >= 0 && base == id ? written_strides(flow, base) : strides(shape)};
}

Shape written_strides(const Dataflow& flow, NodeId product) {
  const std::size_t rank = flow.graph.node(product).shape.rank();
  Shape strides = etude::strides(flow.graph.node(product).shape);
  if (const NodeId transpose = flow.written_as[product]; transpose >= 0) {
    const Node& written = flow.graph.node(transpose);
    const Shape outer = etude::strides(written.shape);
    const auto& order = std::get<op::Transpose>(written.op).order;
    for (std::size_t i = 0; i < rank; ++i) strides[order[i]] = outer[static_cast<std::ptrdiff_t>(i)];
  }
  return strides;
}

}  // namespace etude
