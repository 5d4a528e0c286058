#include "etude/execution/live_numbers.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "etude/execution/node_kinds.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

/// The 32-bit numbers that a thread holds of a Value of a group's program.
std::int64_t numbers_of(const Graph& graph, NodeId id, const Group& group) {
  constexpr std::int64_t lanes = 32;  // of a GPU's warp, across which a row is divided
  const Node& node = graph.node(id);
  if (is<op::Constant>(node)) return 0;
  const Node& source = is<op::Broadcast>(node) ? graph.node(node.inputs[0]) : node;
  const bool of_each = group.row > 0 && node.shape.size() == group.size && source.shape.size() > 1;
  return (node.dtype == DType::float64 ? 2 : 1) * (of_each ? (group.row + lanes - 1) / lanes : 1);
}

/// The lifetime of each Value in a thread: the first and the last member, as positions.
struct Lives {
  std::map<NodeId, int> first = {}, last = {};

  void add(NodeId value, int place, int end) {
    first.try_emplace(value, place);
    int& known = last.try_emplace(value, end).first->second;
    known = std::max(known, end);
  }
};

Lives lives_of(const Dataflow& flow, const Group& group, const std::vector<NodeId>& members) {
  const auto inside = [&](NodeId id) { return std::ranges::binary_search(members, id); };
  const auto read = [&](NodeId input) {
    const NodeId source = flow.base[input];
    if (inside(source)) return source;
    // A number per row stays one number when a program reads it for each element.
    const Node& node = flow.graph.node(source);
    return is<op::Broadcast>(node) && inside(flow.base[node.inputs[0]]) ? flow.base[node.inputs[0]] : source;
  };
  Lives lives;
  const auto end = static_cast<int>(members.size());
  for (int place = 0; place < end; ++place) {
    const NodeId member = members[static_cast<std::size_t>(place)];
    const bool is_own = std::ranges::binary_search(group.members, member);
    const bool is_stored = is_own && (flow.in_memory[member] || !std::ranges::all_of(flow.readers[member], inside));
    lives.add(member, place, is_stored ? end : place);
    for (NodeId input : flow.graph.node(member).inputs) lives.add(read(input), place, place);
  }
  return lives;
}

}  // namespace

std::vector<NodeId> program_members(const Dataflow& flow, const Group& group, const IdFlags& recomputed) {
  std::vector<NodeId> members = group.members;
  if (recomputed.empty()) return members;
  for (std::size_t i = 0; i < members.size(); ++i)
    for (NodeId input : flow.graph.node(members[i]).inputs)
      if (const NodeId source = flow.base[input];
          recomputed[source] && std::ranges::find(members, source) == members.end())
        members.push_back(source);
  std::ranges::sort(members);
  return members;
}

bool has_too_many_numbers(const Dataflow& flow, const Group& group, const IdFlags& recomputed, std::int64_t most) {
  constexpr std::size_t few_members = 24;
  if (most == std::numeric_limits<std::int64_t>::max()) return false;
  const std::vector<NodeId> members = program_members(flow, group, recomputed);
  if (!group.row && members.size() <= few_members) return false;

  IdVector<std::int64_t> change(members.size() + 2);  // of the count of live numbers, by member
  const auto add = [&](std::int64_t numbers, int first, int last) {
    change[first] += numbers;
    change[last + 1] -= numbers;
  };
  for (int place = 0; place < static_cast<int>(members.size()); ++place)
    if (const NodeId member = members[static_cast<std::size_t>(place)]; is<op::Softmax>(flow.graph.node(member)))
      // A softmax also holds exponentials, a maximum and a sum.
      add(numbers_of(flow.graph, member, group) + 2, place, place);
  const Lives lives = lives_of(flow, group, members);
  for (const auto& [value, first] : lives.first) add(numbers_of(flow.graph, value, group), first, lives.last.at(value));
  std::int64_t now = 0;
  return std::ranges::any_of(change, [&](std::int64_t more) { return (now += more) > most; });
}

}  // namespace etude
