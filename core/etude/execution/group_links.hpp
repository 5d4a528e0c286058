#pragma once

#include <vector>

#include "etude/execution/grouping.hpp"

namespace etude {

/// Groups that one instruction computes as its segments: first the leader, then its followers. With empty tables each
/// group is its own leader.
struct Bundles {
  IdVector<int> leaders = {};                 ///< by group
  IdVector<std::vector<int>> followers = {};  ///< by leader

  int leader_of(int group) const { return leaders.empty() ? group : leaders[group]; }
  bool leads(int group) const { return leader_of(group) == group; }
  /// Calls visit with the leader, then with each follower.
  template <class Visitor> void for_each_part(int leader, Visitor&& visit) const {
    visit(leader);
    if (followers.empty()) return;
    for (int follower : followers[leader]) visit(follower);
  }
};

/// The dependencies between groups, from those of their nodes. Later changes of the referenced tables take effect.
class GroupLinks {
 public:
  GroupLinks(const Dataflow& flow, const Grouping& grouping, const Bundles& bundles)
      : flow_(flow), grouping_(grouping), bundles_(bundles) {}

  /// The leaders of the groups that this one reads, once for each dependency. Valid until the next call.
  const std::vector<int>& inputs_of(int group) { return linked(group, flow_.dependencies); }
  /// The same for the groups that read this one.
  const std::vector<int>& readers_of(int group) { return linked(group, flow_.readers); }
  bool reads(int group, int other);
  /// Whether `group` reads a third group that directly or indirectly reads `other`.
  bool waits_for(int group, int other);

 private:
  const std::vector<int>& linked(int group, const IdVector<std::vector<NodeId>>& links);

  const Dataflow& flow_;
  const Grouping& grouping_;
  const Bundles& bundles_;
  std::vector<int> linked_ = {};
  IdVector<int> seen_ = {};  // by group: the number of the last search that visited it
  int search_ = 0;
};

}  // namespace etude
