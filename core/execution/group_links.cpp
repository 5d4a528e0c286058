#include "etude/execution/group_links.hpp"

namespace etude {

bool GroupLinks::reads(int group, int other) const {
  bool found = false;
  for_each_input(group, [&](int input) { found |= input == other; });
  return found;
}

/// Searches from `other` on: what was computed lately has few readers yet.
bool GroupLinks::waits_for(int group, int other) {
  seen_.resize(grouping_.groups.size());
  ++search_;
  std::vector<int> open;
  const auto push = [&](int next) {
    int& seen = seen_[next];
    if (seen != search_) open.push_back(next);
    seen = search_;
  };
  for_each_reader(other, [&](int reader) {
    if (reader != group) push(reader);
  });
  bool found = false;
  while (!open.empty() && !found) {
    const int next = open.back();
    open.pop_back();
    for_each_reader(next, [&](int reader) {
      found |= reader == group;
      push(reader);
    });
  }
  return found;
}

}  // namespace etude
