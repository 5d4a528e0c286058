#include "etude/execution/matrix_product.hpp"

#include <algorithm>

#include "etude/execution/access.hpp"
#include "etude/execution/strided_source.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

using instruction::Gemm;

namespace {

/// The layout of a tensor's matrices, with axes that are `strides` apart, if rows or columns are contiguous.
std::optional<Gemm::Matrix> matrix_of(const Shape& shape, const Shape& strides) {
  const Shape batch = strides.slice(0, strides.rank() - 2);
  if (strides[-1] == 1 || shape[-1] == 1) return Gemm::Matrix{{}, strides[-2], false, batch};
  if (strides[-2] == 1 || shape[-2] == 1) return Gemm::Matrix{{}, strides[-1], true, batch};
  return std::nullopt;
}

struct Factor {
  NodeId source;
  Gemm::Matrix matrix;
};

/// The operand, read from the tensor of which it is a view.
std::optional<Factor> view_of(const Dataflow& flow, const Node& product, std::size_t index) {
  const Graph& graph = flow.graph;
  const Shape& shape = graph.node(product.inputs[index]).shape;
  const Node& node = graph.node(flow.base[product.inputs[index]]);
  const std::optional<Shape> strides = node.shape == shape ? strides_through(graph, node) : std::nullopt;
  const std::optional<Gemm::Matrix> matrix = strides ? matrix_of(shape, *strides) : std::nullopt;
  // The order of the sum in a product of one row or column depends on the layout of its matrix.
  if (!matrix || product.shape[-1] == 1 || product.shape[-2] == 1) return std::nullopt;
  return Factor{flow.base[node.inputs[0]], *matrix};
}

/// The operand as the product reads it: op(x).
Factor operand_of(const Dataflow& flow, const Node& product, std::size_t index) {
  const auto& op = std::get<op::MatMul>(product.op);
  const Shape& shape = flow.graph.node(product.inputs[index]).shape;
  std::optional<Factor> operand = view_of(flow, product, index);
  if (!operand) operand = Factor{flow.base[product.inputs[index]], *matrix_of(shape, etude::strides(shape))};
  operand->matrix.transposed ^= index == 0 ? op.transpose_a : op.transpose_b;
  return *operand;
}

}  // namespace

std::optional<NodeId> read_through(const Dataflow& flow, const Node& product, std::size_t index) {
  const std::optional<Factor> view = view_of(flow, product, index);
  return view ? std::optional(view->source) : std::nullopt;
}

bool keeps_matrices(const Node& transpose) {
  const auto& order = std::get<op::Transpose>(transpose.op).order;
  return order[transpose.shape.rank() - 1] + std::size_t{2} >= transpose.shape.rank();
}

MatrixProduct matrix_product(const Dataflow& flow, NodeId id) {
  const Node& product = flow.graph.node(id);
  const std::size_t rank = product.shape.rank();
  const auto& op = std::get<op::MatMul>(product.op);
  const Shape& a_shape = flow.graph.node(product.inputs[0]).shape;
  Factor a = operand_of(flow, product, 0), b = operand_of(flow, product, 1);
  std::int64_t m = product.shape[-2], n = product.shape[-1];
  Shape strides = written_strides(flow, id);
  if (const NodeId transpose = flow.written_as[id]; transpose >= 0) {
    const auto& order = std::get<op::Transpose>(flow.graph.node(transpose).op).order;
    if (order[rank - 1] == rank - 2) {  // its transpose equals the product of their transposes
      std::swap(a, b);
      std::swap(m, n);
      std::swap(strides[-1], strides[-2]);
      a.matrix.transposed ^= true;
      b.matrix.transposed ^= true;
    }
  }
  Gemm gemm{m,
            n,
            a_shape[op.transpose_a ? -2 : -1],
            product.shape.slice(0, rank - 2),
            a.matrix,
            b.matrix,
            {{}, strides[-2], false, strides.slice(0, rank - 2)},
            {},
            0,
            {}};
  return {gemm, a.source, b.source};
}

}  // namespace etude
