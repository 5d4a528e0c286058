#include "etude/execution/recompute.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/detail/alternatives.hpp"
#include "etude/execution/live_numbers.hpp"
#include "etude/execution/node_kinds.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

IdFlags find_escapes(const Fused& fused, const Wanted& wanted) {
  const auto& [flow, grouping, escapes, recomputed] = fused;
  IdFlags result(flow.base.size(), false);
  for (const auto* nodes : {&wanted.results, &wanted.logs, &wanted.outputs})
    for (NodeId id : *nodes) result[flow.base[id]] = true;
  for (const Graph::Assignment& assignment : flow.graph.assignments()) result[flow.base[assignment.current]] = true;
  for (NodeId id = 0; id < flow.count(); ++id) {
    if (grouping.group_of[id] < 0) continue;
    for (NodeId source : flow.dependencies[id])
      if (grouping.group_of[source] != grouping.group_of[id]) result[source] = true;
  }
  return result;
}

bool is_cheap(const Op& op) {
  static constexpr auto cheap = for_alternatives<OpVariant>([]<class O>() {
    if constexpr (is_elementwise<O>)
      return O::traits.cheap;
    else
      return false;
  });
  return cheap[op.index()];
}

/// Whether all readers of a member in other groups read its elements as they are, in programs.
bool read_by_programs_only(const Fused& fused, NodeId id) {
  const Dataflow& flow = fused.flow;
  const auto& [groups, group_of] = fused.grouping;
  const Group& own = groups[group_of[id]];
  if (flow.in_memory[id] || !is_cheap(flow.graph.node(id).op) || !std::ranges::binary_search(own.members, id))
    return false;
  return std::ranges::all_of(flow.readers[id], [&](NodeId reader) {
    const int other = group_of[reader];
    if (other < 0 || other == group_of[id]) return true;
    const Node& node = flow.graph.node(reader);
    return !is_window(node) && groups[other].phase == own.phase &&
           std::ranges::binary_search(groups[other].members, reader) &&
           std::ranges::count(flow.dependencies[reader], id) ==
               std::ranges::count_if(node.inputs, [&](NodeId input) { return flow.base[input] == id; });
  });
}

bool is_assigned(const Graph& graph, const Variable& variable) {
  return std::ranges::any_of(graph.assignments(), [&](const auto& a) { return a.variable == variable; });
}

/// Whether a node's operands are in memory, or can be at little cost. `large` collects the operands that are as large
/// as the node.
bool is_near(const Fused& fused, NodeId id, std::vector<NodeId>& large) {
  const Dataflow& flow = fused.flow;
  const Graph& graph = flow.graph;
  return std::ranges::all_of(graph.node(id).inputs, [&](NodeId input) {
    NodeId source = flow.base[input];
    const Node* node = &graph.node(source);
    const bool window = is<op::Broadcast>(*node);
    if (window) node = &graph.node(source = flow.base[node->inputs[0]]);
    if (is<op::Constant>(*node)) return true;
    const auto* read = std::get_if<op::Read>(&node->op);
    // The step may overwrite the variable before the node is recomputed.
    if (read && is_assigned(graph, read->variable)) return false;
    const bool leaf = fused.grouping.group_of[source] < 0;
    if (leaf && !is_leaf(*node)) return false;
    if (fused.recomputed[source]) return !window && is_near(fused, source, large);
    if (node->shape.size() * 8 <= graph.node(id).shape.size()) return true;
    if (window || !(leaf || fused.escapes[source])) return false;
    if (std::ranges::find(large, source) == large.end()) large.push_back(source);
    return true;
  });
}

/// The operands of a node that are in memory, through nodes that are recomputed.
std::vector<NodeId> stored_operands(const Fused& fused, NodeId id) {
  std::vector<NodeId> result;
  for (NodeId source : fused.flow.dependencies[id]) {
    if (!fused.recomputed[source]) {
      result.push_back(source);
      continue;
    }
    const std::vector<NodeId> inner = stored_operands(fused, source);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

/// Whether the programs that would recompute a node can have its operands too.
bool fits_readers(const Fused& fused, NodeId id, std::int64_t most_numbers) {
  const auto& [groups, group_of] = fused.grouping;
  return std::ranges::none_of(fused.flow.readers[id], [&](NodeId reader) {
    const int other = group_of[reader];
    return other >= 0 && other != group_of[id] &&
           has_too_many_numbers(fused.flow, groups[other], fused.recomputed, most_numbers);
  });
}

/// Makes readers in other groups depend on a node's operands instead of the node.
void read_operands_instead(Fused& fused, NodeId id) {
  Dataflow& flow = fused.flow;
  const IdVector<int>& group_of = fused.grouping.group_of;
  const std::vector<NodeId> readers = std::exchange(flow.readers[id], {});
  for (NodeId reader : readers) {
    if (group_of[reader] == group_of[id]) flow.readers[id].push_back(reader);
    if (group_of[reader] < 0 || group_of[reader] == group_of[id]) continue;
    std::vector<NodeId>& sources = flow.dependencies[reader];
    if (std::erase(sources, id) == 0) continue;
    for (NodeId source : stored_operands(fused, id)) {
      sources.push_back(source);
      flow.readers[source].push_back(reader);
    }
  }
}

/// Removes from a group the members that have no readers left.
void drop_unread(Fused& fused, Group& group) {
  std::vector<NodeId>& members = group.members;
  if (members.empty()) return;
  for (std::size_t i = members.size(); i-- > 0;) {
    const NodeId id = members[i];
    const bool is_read = std::ranges::any_of(fused.flow.readers[id],
                                             [&](NodeId reader) { return fused.grouping.group_of[reader] >= 0; });
    if (is_read || (fused.escapes[id] && !fused.recomputed[id])) continue;
    fused.grouping.group_of[id] = -1;
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
  }
  group.last = std::max(group.anchor, members.empty() ? NodeId{0} : members.back());
  for (NodeId inner : group.inner) group.last = std::max(group.last, inner);
}

}  // namespace

Fused recompute(Dataflow flow, Grouping grouping, const Wanted& wanted, const Device& device) {
  Fused fused{std::move(flow), std::move(grouping)};
  fused.escapes = find_escapes(fused, wanted);
  fused.recomputed.assign(fused.flow.base.size(), false);
  for (NodeId id = 0; id < fused.flow.count(); ++id) {
    if (fused.grouping.group_of[id] < 0 || !fused.escapes[id] || !read_by_programs_only(fused, id)) continue;
    std::vector<NodeId> large;
    if (!is_near(fused, id, large) || large.size() > 1) continue;
    fused.recomputed[id] = true;
    if (fits_readers(fused, id, device.most_live_numbers()))
      read_operands_instead(fused, id);
    else
      fused.recomputed[id] = false;
  }
  for (Group& group : fused.grouping.groups) drop_unread(fused, group);
  fused.escapes = find_escapes(fused, wanted);
  return fused;
}

}  // namespace etude
