#pragma once

#include "etude/graph/graph.hpp"

/// What compiling asks of a node: whether it needs memory, and what can compute it.
namespace etude {

template <class... O> bool is(const Node& node) { return (std::holds_alternative<O>(node.op) || ...); }

/// Whether it sums over several replicas; the sum over one is a view.
inline bool is_all_reduce(const Graph& graph, const Node& node) {
  return is<op::AllReduce>(node) && graph.share().replicas > 1;
}
/// Shows another node's bytes as they are.
inline bool is_view(const Graph& graph, const Node& node) {
  const op::Role role = traits_of(node.op).role;
  return role == op::Role::view || (role == op::Role::all_reduce && !is_all_reduce(graph, node));
}
inline bool is_leaf(const Node& node) { return traits_of(node.op).role == op::Role::leaf; }
/// Reads its operand's elements as they are, but not all, or not once: a program does so through strides.
inline bool is_window(const Node& node) { return traits_of(node.op).role == op::Role::window; }
/// Computed in registers where it is read, unless it has to be in memory.
inline bool is_implicit(const Node& node) { return is_window(node) || traits_of(node.op).role == op::Role::number; }
/// Likewise, and a matrix product may read what it transposes.
inline bool is_passing(const Node& node) { return is_implicit(node) || is<op::Transpose>(node); }
/// The elements of the rows along which a program can compute a node; 0 where it cannot, or need not know of rows.
std::int64_t row_of(const Graph& graph, const Node& node);
/// Whether it is a step, or some, of a program.
bool is_fusable(const Graph& graph, const Node& node);
/// Whether each cell is seen at most once, and named by a byte: what the kernels of convolutions pool and unpool.
bool fits_convolution(const Window& window);

}  // namespace etude
