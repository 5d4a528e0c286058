#pragma once

#include <cstdint>
#include <vector>

#include "etude/execution/dataflow.hpp"

namespace etude {

/// Nodes that become one instruction: elementwise nodes of one size, and the matrix product or convolution, if any,
/// whose result they work on while it is in cache. Any other op is a group of its own, with itself as anchor. If `row`
/// is set, its members work on rows of that many elements, and some have a size of one number a row: sums of rows, and
/// what is made of such numbers.
struct Group {
  std::vector<NodeId> members;
  NodeId anchor = -1;
  /// What else the anchor's kernel computes: of a PoolGather the PoolArgMax and the Convolution before it, of a loop
  /// its other results.
  std::vector<NodeId> inner;
  std::int64_t size = 0, row = 0;
  NodeId last = 0;  ///< the highest node in it
  int level = 0;    ///< as Dataflow has it
  Phase phase = Phase::step;

  bool is_empty() const { return members.empty() && anchor < 0; }
};

/// The groups of a graph. Those that were merged into others are empty.
struct Grouping {
  IdVector<Group> groups = {};
  /// The group that computes a node, or -1 for inputs, variables and what no group needs in memory.
  IdVector<int> group_of = {};

  int count() const { return static_cast<int>(groups.size()); }
};

/// What the kernel at the head of a group reads from memory.
std::vector<NodeId> kernel_operands(const Dataflow& flow, const Grouping& grouping, int group);

/// Calls visit with each node that a group computes.
template <class Visitor> void for_each_node(const Group& group, Visitor&& visit) {
  for (NodeId member : group.members) visit(member);
  if (group.anchor >= 0) visit(group.anchor);
  for (NodeId inner : group.inner) visit(inner);
}

}  // namespace etude
