#include "etude/execution/schedule.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <queue>
#include <tuple>

#include "etude/base/detail/device_libraries.hpp"
#include "etude/base/detail/heap_sort.hpp"
#include "etude/execution/find_attention.hpp"
#include "etude/execution/node_kinds.hpp"
#include "etude/graph/detail/node.hpp"

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

  void bundle_levels(const std::vector<int>& all_reduces) {
    std::map<int, int> leaders;  // by level
    for (const int group : all_reduces) {
      const auto [leader, first] = leaders.emplace(fused_.grouping.groups[group].level, group);
      if (!first) bundle(leader->second, group);
    }
  }

  /// Returns the leader of each bucket.
  std::vector<int> bundle_buckets(const std::vector<int>& all_reduces, const Buckets& buckets) {
    std::vector<int> leaders;
    for (const std::vector<int>& numbers : buckets.all_reduces) {
      const auto group = [&](int number) { return all_reduces.at(static_cast<std::size_t>(number)); };
      leaders.push_back(group(numbers.front()));
      for (std::size_t i = 1; i < numbers.size(); ++i) bundle(leaders.back(), group(numbers[i]));
    }
    return leaders;
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

/// The groups that are all-reduces, in the order of the graph.
std::vector<int> all_reduces_of(const Fused& fused) {
  std::vector<int> found;
  for (int group = 0; group < fused.grouping.count(); ++group)
    if (is_all_reduce(fused, group)) found.push_back(group);
  heap_sort(found, {}, [&](int group) { return fused.grouping.groups[group].anchor; });
  return found;
}

/// Divides all-reduces into buckets of at least `bytes`, in the order in which their Values are computed. A bucket has
/// all-reduces of one level. The rest of a level belongs to its last bucket.
Buckets divide(const Fused& fused, const std::vector<int>& all_reduces, std::size_t bytes) {
  struct AllReduce {
    int number;
    std::size_t bytes;
  };
  std::map<std::pair<int, NodeId>, std::vector<AllReduce>> ready;  // by level, and by the node that is computed last
  int number = 0;
  for (const int index : all_reduces) {
    const Group& group = fused.grouping.groups[index];
    const Node& node = fused.flow.graph.node(group.anchor);
    const int source = fused.grouping.group_of[fused.flow.base[node.inputs[0]]];
    ready[{group.level, source < 0 ? -1 : fused.grouping.groups[source].last}].push_back(
        {number++, static_cast<std::size_t>(node.shape.size()) * size_of(node.dtype)});
  }
  std::map<int, std::size_t> left;  // bytes that are in no bucket yet, by level
  for (const auto& [key, all] : ready)
    for (const AllReduce& one : all) left[key.first] += one.bytes;
  Buckets buckets{bytes};
  std::size_t filled = bytes;
  int level = 0;
  for (const auto& [key, all] : ready)
    for (const AllReduce& one : all) {
      const bool is_first = buckets.all_reduces.empty() || key.first != level;
      if (is_first || (filled >= bytes && left[key.first] >= bytes)) {
        buckets.all_reduces.emplace_back();
        filled = 0;
      }
      level = key.first;
      buckets.all_reduces.back().push_back(one.number);
      filled += one.bytes;
      left[key.first] -= one.bytes;
    }
  return buckets;
}

/// An instruction whose operands are computed. Instructions of the step come before those of the logs. Within a level
/// an AllReduce comes last, or, if it only starts, first.
struct Ready {
  Phase phase;
  int level, rank;
  NodeId last;
  int group;
  bool operator>(const Ready& other) const {
    return std::tie(phase, level, rank, last) > std::tie(other.phase, other.level, other.rank, other.last);
  }
};

/// Orders the leaders such that each follows its inputs. `buckets`: the leaders of all-reduces that only start, in the
/// order of their starts.
std::vector<int> find_order(const Fused& fused, const Bundles& bundles, const std::vector<int>& buckets) {
  const IdVector<Group>& groups = fused.grouping.groups;
  GroupLinks links(fused.flow, fused.grouping, bundles);
  const auto ready_group = [&](int index) {
    const Group& group = groups[index];
    NodeId last = 0;
    bundles.for_each_part(index, [&](int part) { last = std::max(last, groups[part].last); });
    const int rank = !is_all_reduce(fused, index) ? 1 : buckets.empty() ? 2 : 0;
    return Ready{group.phase, group.level, rank, last, index};
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
  }
  for (std::size_t i = 1; i < buckets.size(); ++i) {
    readers[buckets[i - 1]].push_back(buckets[i]);
    ++missing[buckets[i]];
  }
  for (int index = 0; index < fused.grouping.count(); ++index)
    if (!groups[index].is_empty() && bundles.leads(index) && missing[index] == 0) ready.push(ready_group(index));
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

/// The position of the first instruction that reads a sum of an all-reduce; the end if there is none.
int first_reader(const Fused& fused, const Schedule& schedule, int all_reduce) {
  int first = schedule.end();
  schedule.bundles.for_each_part(all_reduce, [&](int part) {
    for (const NodeId reader : fused.flow.readers[fused.grouping.groups[part].anchor])
      if (const int group = fused.grouping.group_of[reader]; group >= 0 && schedule.position[group] >= 0)
        first = std::min(first, schedule.position[group]);
  });
  return first;
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

bool Scheduled::reads_in_step(int index, const VirtualProgram::Input& input) const {
  const Group& of = group(index);
  return input.access.kind == instruction::Access::Kind::contiguous && input.offset == 0 &&
         graph().node(input.source).shape.size() == (input.per_row ? of.size / of.row : of.size);
}

bool is_all_reduce(const Fused& fused, int group) {
  const NodeId anchor = group < 0 ? -1 : fused.grouping.groups[group].anchor;
  return anchor >= 0 && is_all_reduce(fused.flow.graph, fused.flow.graph.node(anchor));
}

Schedule make_schedule(const Fused& fused, const Programs& programs, const Buckets& buckets) {
  Schedule schedule;
  Bundler bundler(fused, programs, schedule.bundles);
  bundler.bundle_equal_updates();
  const std::vector<int> all_reduces = all_reduces_of(fused);
  std::vector<int> starting;
  if (!has_device_libraries || buckets.bytes == 0) {
    bundler.bundle_levels(all_reduces);
  } else {
    schedule.buckets = buckets.all_reduces.empty() ? divide(fused, all_reduces, buckets.bytes) : buckets;
    starting = bundler.bundle_buckets(all_reduces, schedule.buckets);
  }
  schedule.order = find_order(fused, schedule.bundles, starting);
  schedule.position.assign(fused.grouping.groups.size(), -1);
  for (int at = 0; at < schedule.end(); ++at)
    schedule.for_each_part(at, [&](int part) { schedule.position[part] = at; });
  if (has_device_libraries)
    for (const int leader : starting)
      schedule.awaits[schedule.position[leader]] = first_reader(fused, schedule, leader);
  return schedule;
}

}  // namespace etude
