#include "etude/execution/group_links.hpp"

#include <algorithm>

namespace etude {

const std::vector<int>& GroupLinks::linked(int group, const IdVector<std::vector<NodeId>>& links) {
  linked_.clear();
  bundles_.for_each_part(group, [&](int part) {
    for_each_node(grouping_.groups[part], [&](NodeId id) {
      for (NodeId linked : links[id])
        if (const int other = grouping_.group_of[linked]; other >= 0 && bundles_.leader_of(other) != group)
          linked_.push_back(bundles_.leader_of(other));
    });
  });
  return linked_;
}

bool GroupLinks::reads(int group, int other) {
  const std::vector<int>& inputs = inputs_of(group);
  return std::ranges::find(inputs, other) != inputs.end();
}

/// Searches forward from `other`: recent groups have few readers yet.
bool GroupLinks::waits_for(int group, int other) {
  seen_.resize(grouping_.groups.size());
  ++search_;
  std::vector<int> open;
  const auto push = [&](int next) {
    int& seen = seen_[next];
    if (seen != search_) open.push_back(next);
    seen = search_;
  };
  for (int reader : readers_of(other))
    if (reader != group) push(reader);
  bool found = false;
  while (!open.empty() && !found) {
    const int next = open.back();
    open.pop_back();
    for (int reader : readers_of(next)) {
      found |= reader == group;
      push(reader);
    }
  }
  return found;
}

}  // namespace etude
