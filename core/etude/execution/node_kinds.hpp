#pragma once

#include "etude/graph/detail/node.hpp"
#include "etude/graph/graph.hpp"

/// Properties of nodes for the compiler: whether a node needs memory, and what can compute it.
namespace etude {

template <class... O> bool is(const Node& node) { return (std::holds_alternative<O>(node.op) || ...); }

/// Whether it is an all-reduce of several replicas. With one replica it is a view.
inline bool is_all_reduce(const Graph& graph, const Node& node) {
  return is<op::AllReduce>(node) && graph.shard().replicas > 1;
}
/// Whether it is a view of another node's bytes.
inline bool is_view(const Graph& graph, const Node& node) {
  const op::Role role = traits_of(node.op).role;
  return role == op::Role::view || (role == op::Role::all_reduce && !is_all_reduce(graph, node));
}
inline bool is_leaf(const Node& node) { return traits_of(node.op).role == op::Role::leaf; }
/// Whether it selects or repeats elements of its operand: a program reads them through strides.
inline bool is_window(const Node& node) { return traits_of(node.op).role == op::Role::window; }
/// Whether its readers compute it in registers, unless it must be in memory.
inline bool is_implicit(const Node& node) { return is_window(node) || traits_of(node.op).role == op::Role::number; }
/// Likewise; also a Transpose, which a matrix product may read through.
inline bool is_passing(const Node& node) { return is_implicit(node) || is<op::Transpose>(node); }
/// The length of the rows along which a program can compute a node; 0 if it cannot, or does not depend on rows.
std::int64_t row_of(const Graph& graph, const Node& node);
/// Whether it becomes one or more steps of a program.
bool is_fusable(const Graph& graph, const Node& node);
/// Whether windows do not overlap and a byte can hold a cell's index: the kernels of convolutions can pool and unpool
/// such windows.
bool fits_convolution(const Window& window);

}  // namespace etude
