#include "etude/execution/grouping.hpp"

namespace etude {

std::vector<NodeId> kernel_operands(const Dataflow& flow, const Grouping& grouping, int index) {
  const Group& group = grouping.groups[index];
  std::vector<NodeId> result;
  const auto add = [&](NodeId id) {
    for (NodeId source : flow.dependencies[id])
      if (grouping.group_of[source] != index) result.push_back(source);
  };
  if (group.anchor >= 0) add(group.anchor);
  for (NodeId inner : group.inner) add(inner);
  return result;
}

}  // namespace etude
