#include "etude/execution/schedule.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <queue>
#include <tuple>

#include "etude/execution/find_attention.hpp"
#include "etude/execution/node_kinds.hpp"

namespace etude {
namespace {

/// Chooses the groups that one instruction computes.
class Bundler {
 public:
  Bundler(const Fused& fused, const Programs& programs, Bundles& bundles)
      : fused_(fused), programs_(programs), bundles_(bundles) {
    const int count = fused.grouping.count();
    bundles_.followers.resize(fused.grouping.groups.size());
    for (int group = 0; group < count; ++group) bundles_.leaders.push_back(group);
  }

  void bundle_equal_updates() {
    std::vector<int> leaders;
    for (int group = 0; group < fused_.grouping.count(); ++group) {
      if (!programs_[group] || fused_.grouping.groups[group].anchor >= 0 || !updates_variable(group)) continue;
      const auto leader = std::ranges::find_if(leaders, [&](int other) {
        return programs_[other]->program == programs_[group]->program && bundle(other, group);
      });
      if (leader == leaders.end()) leaders.push_back(group);
    }
  }

  void bundle_all_reduces() {
    std::map<int, int> leaders;  // by level
    for (int group = 0; group < fused_.grouping.count(); ++group) {
      if (!is_all_reduce(fused_, group)) continue;
      const auto [leader, first] = leaders.emplace(fused_.grouping.groups[group].level, group);
      if (!first) bundle(leader->second, group);
    }
  }

 private:
  bool updates_variable(int group) const {
    return std::ranges::any_of(fused_.flow.graph.assignments(), [&](const Graph::Assignment& assignment) {
      return fused_.grouping.group_of[fused_.flow.base[assignment.current]] == group;
    });
  }

  /// Makes `b` a segment of the instruction of `a`, unless one depends on the other.
  bool bundle(int a, int b) {
    const Group &first = fused_.grouping.groups[a], &second = fused_.grouping.groups[b];
    if (first.phase != second.phase || first.level != second.level || links_.reads(a, b) || links_.reads(b, a) ||
        links_.waits_for(a, b) || links_.waits_for(b, a))
      return false;
    bundles_.leaders[b] = a;
    bundles_.followers[a].push_back(b);
    return true;
  }

  const Fused& fused_;
  const Programs& programs_;
  Bundles& bundles_;
  GroupLinks links_{fused_.flow, fused_.grouping, bundles_};
};

/// An instruction whose operands are computed. Instructions of the step come before those of the logs. Within a level
/// the AllReduce comes last.
struct Ready {
  Phase phase;
  int level;
  bool all_reduce;
  NodeId last;
  int group;
  bool operator>(const Ready& other) const {
    return std::tie(phase, level, all_reduce, last) > std::tie(other.phase, other.level, other.all_reduce, other.last);
  }
};

/// Orders the leaders such that each follows its inputs.
std::vector<int> find_order(const Fused& fused, const Bundles& bundles) {
  const IdVector<Group>& groups = fused.grouping.groups;
  GroupLinks links(fused.flow, fused.grouping, bundles);
  const auto ready_group = [&](int index) {
    const Group& group = groups[index];
    NodeId last = 0;
    bundles.for_each_part(index, [&](int part) { last = std::max(last, groups[part].last); });
    return Ready{group.phase, group.level, is_all_reduce(fused, index), last, index};
  };
  IdVector<int> missing(groups.size());  // inputs of each group that are not in the order yet
  IdVector<std::vector<int>> readers(groups.size());
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (int index = 0; index < fused.grouping.count(); ++index) {
    if (groups[index].is_empty() || !bundles.leads(index)) continue;
    std::vector<int> sources = links.inputs_of(index);
    std::ranges::sort(sources);
    sources.erase(std::ranges::unique(sources).begin(), sources.end());
    missing[index] = static_cast<int>(sources.size());
    for (int source : sources) readers[source].push_back(index);
    if (sources.empty()) ready.push(ready_group(index));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int index = ready.top().group;
    ready.pop();
    order.push_back(index);
    for (int reader : readers[index])
      if (--missing[reader] == 0) ready.push(ready_group(reader));
  }
  return order;
}

}  // namespace

std::size_t Scheduled::bytes_of(NodeId node) const {
  if (const AttentionPattern* attention = fused.flow.attention.of_weights(node))
    return statistics_bytes(attention_shape(graph(), *attention));
  const auto elements = static_cast<std::uint64_t>(graph().node(node).shape.size());
  const std::size_t size = size_of(graph().node(node).dtype);
  if (elements > std::numeric_limits<std::ptrdiff_t>::max() / size) throw std::bad_alloc();
  return static_cast<std::size_t>(elements) * size;
}

bool is_all_reduce(const Fused& fused, int group) {
  const NodeId anchor = group < 0 ? -1 : fused.grouping.groups[group].anchor;
  return anchor >= 0 && is_all_reduce(fused.flow.graph, fused.flow.graph.node(anchor));
}

Schedule make_schedule(const Fused& fused, const Programs& programs) {
  Schedule schedule;
  Bundler bundler(fused, programs, schedule.bundles);
  bundler.bundle_equal_updates();
  bundler.bundle_all_reduces();
  schedule.order = find_order(fused, schedule.bundles);
  schedule.position.assign(fused.grouping.groups.size(), -1);
  for (int at = 0; at < schedule.end(); ++at)
    schedule.for_each_part(at, [&](int part) { schedule.position[part] = at; });
  return schedule;
}

}  // namespace etude
