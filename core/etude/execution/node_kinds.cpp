#include "etude/execution/node_kinds.hpp"

#include "etude/execution/instruction.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

std::int64_t row_of(const Graph& graph, const Node& node) {
  if (node.inputs.empty() || !is_floating(node.dtype)) return 0;
  const Shape& shape = graph.node(node.inputs[0]).shape;
  const auto along = [&](std::size_t first, std::size_t count) {
    const std::int64_t row = first + count == shape.rank() ? shape.slice(first, shape.rank()).size() : 0;
    return row > 1 && row <= instruction::longest_row && shape.size() > 0 ? row : 0;
  };
  if (const auto* sum = std::get_if<op::Sum>(&node.op)) return along(sum->first, sum->count);
  if (const auto* max = std::get_if<op::Max>(&node.op)) return along(max->first, max->count);
  return is<op::Softmax>(node) ? along(shape.rank() - 1, 1) : 0;
}

bool is_fusable(const Graph& graph, const Node& node) {
  return traits_of(node.op).role == op::Role::step || row_of(graph, node) > 0;
}

bool fits_convolution(const Window& window) {
  return window.strides[0] >= window.extent[0] && window.strides[1] >= window.extent[1] && window.cells() <= 256;
}

}  // namespace etude
