#include "etude/graph/detail/loop.hpp"

#include <algorithm>

#include "etude/graph/detail/node.hpp"

namespace etude {

int Loop::carry_after(NodeId node) const {
  const auto found = std::ranges::find(next, node);
  return found == next.end() ? -1 : static_cast<int>(found - next.begin());
}

int Loop::carry_before(NodeId node) const {
  const auto* input = std::get_if<op::Input>(&body.node(node).op);
  return input && input->index < carries ? input->index : -1;
}

}  // namespace etude
