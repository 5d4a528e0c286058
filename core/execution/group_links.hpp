#pragma once

#include <vector>

#include "etude/execution/grouping.hpp"

namespace etude {

/// Groups that one instruction computes, as its segments: a leader's own, then those of its followers. Empty tables:
/// each group leads itself.
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

/// Which groups read which, over the nodes that they compute. Sees changes of what it refers to.
class GroupLinks {
 public:
  GroupLinks(const Dataflow& flow, const Grouping& grouping, const Bundles& bundles)
      : flow_(flow), grouping_(grouping), bundles_(bundles) {}

  /// Calls visit with the leader of each group that this one reads, once for each dependency.
  template <class Visitor> void for_each_input(int group, Visitor&& visit) const {
    for_each_link(group, flow_.dependencies, visit);
  }
  /// The same for the groups that read this one.
  template <class Visitor> void for_each_reader(int group, Visitor&& visit) const {
    for_each_link(group, flow_.readers, visit);
  }
  bool reads(int group, int other) const;
  /// Whether `group` reads a third group that directly or indirectly reads `other`.
  bool waits_for(int group, int other);

 private:
  template <class Visitor>
  void for_each_link(int group, const IdVector<std::vector<NodeId>>& links, Visitor&& visit) const {
    bundles_.for_each_part(group, [&](int part) {
      for_each_node(grouping_.groups[part], [&](NodeId id) {
        for (NodeId linked : links[id])
          if (const int other = grouping_.group_of[linked]; other >= 0 && bundles_.leader_of(other) != group)
            visit(bundles_.leader_of(other));
      });
    });
  }

  const Dataflow& flow_;
  const Grouping& grouping_;
  const Bundles& bundles_;
  IdVector<int> seen_ = {};  // by group: the number of the last search that came there
  int search_ = 0;
};

}  // namespace etude
