#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "etude/base/detail/device_libraries.hpp"
#include "etude/execution/group_links.hpp"
#include "etude/execution/lowered.hpp"
#include "etude/execution/program_builder.hpp"
#include "etude/execution/recompute.hpp"

namespace etude {

/// Groups in the order of their instructions.
struct Schedule {
  Bundles bundles = {};
  /// The groups that lead, by position.
  std::vector<int> order = {};
  /// The position of each group's instruction; -1 for an empty group.
  IdVector<int> position = {};
  /// How all-reduces are divided.
  Buckets buckets = {};
  /// For the position of each all-reduce that only starts there: the position of the first instruction that reads a
  /// sum, or end().
  std::map<int, int> awaits = {};

  /// The position after the last instruction.
  int end() const { return static_cast<int>(order.size()); }
  /// The position up to which the instruction at `position` uses its operands.
  int end_of(int at) const {
    if (!has_device_libraries) return at;
    const auto await = awaits.find(at);
    return await == awaits.end() ? at : await->second;
  }
  /// Calls visit with each group of the instruction at `position`.
  template <class Visitor> void for_each_part(int at, Visitor&& visit) const {
    bundles.for_each_part(order[static_cast<std::size_t>(at)], visit);
  }
};

/// The sixth pass: finds the groups that share an instruction, and the order of the instructions. The updates of many
/// variables by one optimizer are one instruction with many segments. All all-reduces of one level, or of one bucket,
/// are one AllReduce. A group is scheduled by its last node.
Schedule make_schedule(const Fused& fused, const Programs& programs, const Buckets& buckets);

/// The result of the passes before placement.
struct Scheduled {
  Fused fused;
  Programs programs;
  Schedule schedule;
  Wanted wanted;  ///< base nodes

  const Graph& graph() const { return fused.flow.graph; }
  const Group& group(int index) const { return fused.grouping.groups[index]; }
  NodeId base(NodeId id) const { return fused.flow.base[id]; }
  int group_of(NodeId id) const { return fused.grouping.group_of[id]; }
  std::size_t bytes_of(NodeId id) const;
  /// Whether a group's program reads the whole source of an input, element by element in the order in which it writes
  /// its outputs. Only then may it write over the source. If it reads only
  /// a part, it overwrites elements before it reads them.
  bool reads_in_step(int group, const VirtualProgram::Input& input) const;
};

/// Whether a group is an all-reduce of several replicas.
bool is_all_reduce(const Fused& fused, int group);

}  // namespace etude
