#pragma once

#include "etude/execution/placement.hpp"
#include "etude/graph/detail/node.hpp"

/// Lowers each op that a kernel computes to an instruction.
namespace etude {

/// The anchor of a group, and the places of its operands and its result.
class Site {
 public:
  Site(const Placement& placement, const Group& group)
      : placement_(placement), group_(group), node_(placement.scheduled.graph().node(group.anchor)) {}

  const Placement& placement() const { return placement_; }
  const Dataflow& flow() const { return placement_.scheduled.fused.flow; }
  NodeId id() const { return group_.anchor; }
  const Node& node() const { return node_; }
  const Node& node(NodeId id) const { return flow().graph.node(id); }
  Operand out() const { return placement_.operand(group_.anchor); }
  Operand in(std::size_t index) const { return placement_.operand(node_.inputs[index]); }
  const Shape& shape(std::size_t index) const { return node(node_.inputs[index]).shape; }
  /// The length of an operand's last axis, and the number of such rows.
  std::int64_t count(std::size_t index) const { return shape(index)[-1]; }
  std::int64_t rows(std::size_t index) const;
  /// The inner node of this op in the group, or -1.
  template <class O> NodeId inner() const {
    for (NodeId id : group_.inner)
      if (std::holds_alternative<O>(node(id).op)) return id;
    return -1;
  }
  /// The place of a node that is stored; an empty operand otherwise.
  Operand wanted(NodeId id) const { return placement_.has_place(id) ? placement_.operand(id) : Operand{}; }

 private:
  const Placement& placement_;
  const Group& group_;
  const Node& node_;
};

/// The instruction that computes the output of attention, and that of its gradients.
Instruction lower_attention(const AttentionPattern& pattern, const Site& site);
Instruction lower_attention_gradient(const AttentionPattern& pattern, const Site& site);

/// The instruction of a group's anchor, without workspace and epilogue.
Instruction lower_anchor(const Placement& placement, int group);

}  // namespace etude
