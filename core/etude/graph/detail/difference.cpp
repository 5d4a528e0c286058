#include "etude/graph/detail/difference.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "etude/base/error.hpp"
#include "etude/graph/detail/loop.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

/// Whether variables are equal. A variable that a trace created counts as a constant, unless it is trainable.
bool same(const Variable& a, const Variable& b) {
  if (a == b) return true;
  if (a.name() != b.name() || a.shape() != b.shape() || a.dtype() != b.dtype() || a.trainable() || b.trainable())
    return false;
  const Tensor x = a.value(), y = b.value();
  return std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

bool same(const Op& a, const Op& b) {
  if (a.index() != b.index()) return false;
  if (const auto* read = std::get_if<op::Read>(&a)) return same(read->variable, std::get<op::Read>(b).variable);
  if (const auto* x = std::get_if<op::Constant>(&a)) {
    const auto& y = std::get<op::Constant>(b);
    return std::bit_cast<std::uint64_t>(x->value) == std::bit_cast<std::uint64_t>(y.value) && x->shape == y.shape &&
           x->dtype == y.dtype;
  }
  if (const auto* x = std::get_if<op::Scan>(&a)) {
    const auto& y = std::get<op::Scan>(b);
    return x->node == y.node && x->last == y.last && x->loop->steps == y.loop->steps &&
           x->loop->reverse == y.loop->reverse && x->loop->next == y.loop->next &&
           (x->loop == y.loop || difference(x->loop->body, y.loop->body).empty());
  }
  return a == b;
}

bool same(const Node& a, const Node& b) {
  return same(a.op, b.op) && a.inputs == b.inputs && a.shape == b.shape && a.dtype == b.dtype;
}

template <class... Parts> std::string text_of(const Parts&... parts) {
  std::string text;
  (append_text(text, parts), ...);
  return text;
}

std::string named(const Node& node) { return text_of(name_of(node.op), " of shape ", node.shape); }

/// The op that reads a node's elements, not only its shape or dtype.
std::string user_of(const Graph& graph, NodeId id) {
  for (NodeId user = id + 1; user < static_cast<NodeId>(graph.nodes().size()); ++user) {
    const Node& node = graph.node(user);
    if (std::ranges::find(node.inputs, id) == node.inputs.end()) continue;
    if (std::holds_alternative<op::Broadcast>(node.op) || std::holds_alternative<op::Cast>(node.op))
      id = user;
    else
      return named(node);
  }
  return named(graph.node(id));
}

std::string described(const Graph& first, const Graph& second, NodeId id) {
  const Node &a = first.node(id), &b = second.node(id);
  if (a.op.index() != b.op.index())
    return text_of("op ", id, " is ", named(a), " in one trace and ", named(b), " in the next");
  if (const auto* x = std::get_if<op::Constant>(&a.op)) {
    const auto& y = std::get<op::Constant>(b.op);
    return text_of(user_of(first, id), " computes with ", x->value, " in one trace and with ", y.value, " in the next");
  }
  if (const auto* read = std::get_if<op::Read>(&a.op))
    return text_of(user_of(first, id), " computes with the variable \"", read->variable.name(),
                   "\" in one trace and with another one, \"", std::get<op::Read>(b.op).variable.name(),
                   "\", in the next");
  if (const auto* x = std::get_if<op::Scan>(&a.op)) {
    const std::string inner = difference(x->loop->body, std::get<op::Scan>(b.op).loop->body);
    if (!inner.empty()) return "in a loop over time, " + inner;
  }
  if (a.shape != b.shape) return text_of(named(a), " in one trace is ", named(b), " in the next");
  return text_of(named(a), " has other operands or options in one trace than in the next");
}

bool same_assignments(const Graph& first, const Graph& second) {
  return std::ranges::equal(first.assignments(), second.assignments(),
                            [](const Graph::Assignment& a, const Graph::Assignment& b) {
                              return a.current == b.current && a.variable == b.variable;
                            });
}

}  // namespace

std::string difference(const Graph& first, const Graph& second) {
  const std::size_t sizes[] = {first.nodes().size(), second.nodes().size()};
  const auto common = static_cast<NodeId>(std::min(sizes[0], sizes[1]));
  for (NodeId id = 0; id < common; ++id)
    if (!same(first.node(id), second.node(id))) return described(first, second, id);
  if (sizes[0] != sizes[1])
    return text_of("one trace has ", sizes[0], " ops and the next ", sizes[1], ", of which ",
                   named((sizes[0] > sizes[1] ? first : second).node(common)), " is the first that the other lacks");
  return same_assignments(first, second) ? "" : "one trace assigns other variables than the next";
}

}  // namespace etude
