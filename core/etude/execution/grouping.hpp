#pragma once

#include <cstdint>
#include <vector>

#include "etude/execution/dataflow.hpp"

namespace etude {

/// Nodes that one instruction computes: elementwise nodes of one size, and at most one matrix product or convolution,
/// whose result they process while it is in cache. Any other op is a group of its own, with itself as anchor. If `row`
/// is set, the members work on rows of that many elements, and some have one number per row: sums of rows, and values
/// computed from such sums.
struct Group {
  std::vector<NodeId> members;
  NodeId anchor = -1;
  /// Other nodes that the anchor's kernel computes: for a PoolGather the PoolArgMax and the Convolution before it, for
  /// a loop its other results.
  std::vector<NodeId> inner;
  std::int64_t size = 0, row = 0;
  NodeId last = 0;  ///< the highest node in it
  int level = 0;    ///< as in Dataflow
  Phase phase = Phase::step;

  bool is_empty() const { return members.empty() && anchor < 0; }
};

/// The groups of a graph. Groups that were merged into others are empty.
struct Grouping {
  IdVector<Group> groups = {};
  /// The group that computes a node, or -1 for inputs, variables and nodes that no group needs in memory.
  IdVector<int> group_of = {};

  int count() const { return static_cast<int>(groups.size()); }
};

/// The nodes that a group's kernel reads from memory.
std::vector<NodeId> kernel_operands(const Dataflow& flow, const Grouping& grouping, int group);

/// Calls visit with each node that a group computes.
template <class Visitor> void for_each_node(const Group& group, Visitor&& visit) {
  for (NodeId member : group.members) visit(member);
  if (group.anchor >= 0) visit(group.anchor);
  for (NodeId inner : group.inner) visit(inner);
}

}  // namespace etude
