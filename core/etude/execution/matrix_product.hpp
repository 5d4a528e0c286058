#pragma once

#include "etude/execution/dataflow.hpp"
#include "etude/execution/instruction.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

/// The node that a product reads in place of its operand `index`: the source that the operand transposes or repeats, if
/// rows or columns of the result are contiguous there. Otherwise empty; then the operand itself must be in memory.
std::optional<NodeId> read_through(const Dataflow& flow, const Node& product, std::size_t index);

/// Whether a matrix product can write its result in the order of `transpose`: its rows or its columns must stay
/// innermost.
bool keeps_matrices(const Node& transpose);

/// A product as an instruction whose operands are still nodes.
struct MatrixProduct {
  instruction::Gemm gemm;
  NodeId a, b;
};
MatrixProduct matrix_product(const Dataflow& flow, NodeId product);

}  // namespace etude
