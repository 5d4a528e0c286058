#include <algorithm>
#include <map>

#include "etude/execution/lowering.hpp"
#include "etude/execution/node_kinds.hpp"

// Where replicas join: one instruction for all that can be joined at the same time, and where its sums lie.

namespace etude {

bool Lowering::is_join(int group) const {
  const NodeId anchor = group < 0 ? -1 : fusion_.group(group).anchor;
  return anchor >= 0 && etude::is_join(graph_, graph_.node(anchor));
}

/// All that can be joined at the same time is: a gradient of each variable, what metrics add.
void Lowering::join_replicas() {
  std::map<int, int> leaders;  // by level
  for (int group = 0; group < static_cast<int>(fusion_.group_count()); ++group) {
    if (!is_join(group)) continue;
    const auto [leader, first] = leaders.emplace(fusion_.group(group).level, group);
    if (!first) fusion_.join(leader->second, group);
  }
}

/// A sum over replicas lies where this one's part was, if nobody else wants that, at the same join or afterwards.
void Lowering::sum_in_place() {
  for (int position = 0; position < end_; ++position)
    for_each_part(order_[index_of(position)], [&](int part) {
      if (!is_join(part)) return;
      const NodeId sum = fusion_.group(part).anchor;
      const NodeId summand = fusion_.base(graph_.node(sum).inputs[0]);
      const auto joins = [this](NodeId reader) { return is_join(fusion_.group_of(reader)); };
      const Place &own = places_.at(summand), &place = places_.at(sum);
      if (own.block < 0 || own.offset || own.part || place.block < 0) return;
      if (std::ranges::count_if(fusion_.readers(summand), joins) > 1) return;
      const int other = root(own.block);
      if (blocks_[index_of(other)].last != position || blocks_[index_of(other)].bytes != bytes_of(sum)) return;
      blocks_[index_of(other)].last = blocks_[index_of(place.block)].last;
      blocks_[index_of(place.block)].same_as = other;
    });
}

instruction::AllReduce Lowering::emit_join(int group) const {
  instruction::AllReduce join;
  for_each_part(group, [&](int part) {
    const NodeId sum = fusion_.group(part).anchor;
    const Node& node = graph_.node(sum);
    join.parts.push_back({node.shape.size(), operand(node.inputs[0]), operand(sum)});
  });
  return join;
}

}  // namespace etude
