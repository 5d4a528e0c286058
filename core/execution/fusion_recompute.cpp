#include <algorithm>
#include <utility>

#include "etude/execution/fusion.hpp"
#include "etude/execution/node_kinds.hpp"

// What is cheaper to compute again than to keep in memory: a difference, a product, a condition, of what is in memory
// anyway. Without this a step would store most of what its backward half needs at the time of its forward half.

namespace etude {
namespace {

/// Some cycles a register; a load costs as much.
bool is_cheap(const Node& node) {
  return is<op::Negate, op::Absolute, op::Square, op::Relu, op::Add, op::Subtract, op::Multiply, op::Maximum,
            op::Minimum, op::Equal, op::Less, op::LessEqual, op::LogicalNot, op::LogicalAnd, op::LogicalOr, op::Select>(
      node);
}

}  // namespace

void Fusion::find_recomputed() {
  recomputed_.assign(graph_.nodes().size(), false);
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    if (group_of(id) < 0 || !escapes(id) || !read_by_programs_only(id)) continue;
    std::vector<NodeId> large;
    if (!is_near(id, large) || large.size() > 1) continue;
    recomputed_[static_cast<std::size_t>(id)] = true;
    if (recomputing_fits(id))
      read_operands_instead(id);
    else
      recomputed_[static_cast<std::size_t>(id)] = false;
  }
  drop_unread();
}

/// Whether the programs that would compute a node again have room for its operands.
bool Fusion::recomputing_fits(NodeId id) const {
  return std::ranges::none_of(readers_[static_cast<std::size_t>(id)], [&](NodeId reader) {
    const int other = group_of(reader);
    return other >= 0 && other != group_of(id) && has_too_many_numbers(group(other));
  });
}

/// Whether those of other groups that read a member read its elements as they are, in programs.
bool Fusion::read_by_programs_only(NodeId id) const {
  const auto& members = group(group_of(id)).members;
  if (in_memory_[static_cast<std::size_t>(id)] || !is_cheap(graph_.node(id)) ||
      !std::ranges::binary_search(members, id))
    return false;
  return std::ranges::all_of(readers_[static_cast<std::size_t>(id)], [&](NodeId reader) {
    const int other = group_of(reader);
    if (other < 0 || other == group_of(id)) return true;
    const Node& node = graph_.node(reader);
    return !is_window(node) && group(other).phase == group(group_of(id)).phase &&
           std::ranges::binary_search(group(other).members, reader) &&
           std::ranges::count_if(dependencies(reader), [&](NodeId source) { return source == id; }) ==
               std::ranges::count_if(node.inputs, [&](NodeId input) { return base(input) == id; });
  });
}

/// Whether what a node is made of is in memory, or can be at little cost; `large` collects what is as large as it.
bool Fusion::is_near(NodeId id, std::vector<NodeId>& large) const {
  return std::ranges::all_of(graph_.node(id).inputs, [&](NodeId input) {
    NodeId source = base(input);
    const Node* node = &graph_.node(source);
    const bool window = is<op::Broadcast>(*node);
    if (window) node = &graph_.node(source = base(node->inputs[0]));
    if (is<op::Constant>(*node)) return true;
    if (const auto* read = std::get_if<op::Read>(&node->op))
      if (std::ranges::any_of(graph_.assignments(), [&](const auto& a) { return a.variable == read->variable; }))
        return false;  // it may be overwritten by then
    const bool leaf = group_of(source) < 0;
    if (leaf && !is_leaf(*node)) return false;
    if (recomputed(source)) return !window && is_near(source, large);
    if (node->shape.size() * 8 <= graph_.node(id).shape.size()) return true;
    if (window || !(leaf || escapes(source))) return false;
    if (std::ranges::find(large, source) == large.end()) large.push_back(source);
    return true;
  });
}

/// What lies in memory of what a node is made of.
std::vector<NodeId> Fusion::stored_operands(NodeId id) const {
  std::vector<NodeId> result;
  for (NodeId source : dependencies(id)) {
    if (!recomputed(source)) {
      result.push_back(source);
      continue;
    }
    const std::vector<NodeId> inner = stored_operands(source);
    result.insert(result.end(), inner.begin(), inner.end());
  }
  return result;
}

/// Readers of other groups wait for what a node is made of, and not for the node.
void Fusion::read_operands_instead(NodeId id) {
  const std::vector<NodeId> readers = std::exchange(readers_[static_cast<std::size_t>(id)], {});
  for (NodeId reader : readers) {
    if (group_of(reader) == group_of(id)) readers_[static_cast<std::size_t>(id)].push_back(reader);
    if (group_of(reader) < 0 || group_of(reader) == group_of(id)) continue;
    std::vector<NodeId>& sources = dependencies_[static_cast<std::size_t>(reader)];
    if (std::erase(sources, id) == 0) continue;
    for (NodeId source : stored_operands(id)) {
      sources.push_back(source);
      readers_[static_cast<std::size_t>(source)].push_back(reader);
    }
  }
}

/// Takes out of its group what nobody reads there any more.
void Fusion::drop_unread() {
  for (int index = 0; index < static_cast<int>(groups_.size()); ++index) {
    Group& group = groups_[static_cast<std::size_t>(index)];
    std::vector<NodeId>& members = group.members;
    const bool whole = members.empty();
    for (std::size_t i = members.size(); i-- > 0;) {
      const NodeId id = members[i];
      const auto& readers = readers_[static_cast<std::size_t>(id)];
      if ((escapes(id) && !recomputed(id)) ||
          std::ranges::any_of(readers, [&](NodeId reader) { return group_of(reader) >= 0; }))
        continue;
      group_of_[static_cast<std::size_t>(id)] = -1;
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (whole) continue;
    group.last = std::max(group.anchor, members.empty() ? NodeId{0} : members.back());
    for (NodeId inner : group.inner) group.last = std::max(group.last, inner);
  }
}

}  // namespace etude
