#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/graph/graph.hpp"
#include "etude/graph/rules.hpp"

namespace etude {
namespace {

/// Which of the nodes up to `last` depend on a source through differentiable ops: only those need gradients.
std::vector<bool> depends_on(const Graph& graph, std::span<const Value> sources, NodeId last) {
  std::vector<bool> depends(static_cast<std::size_t>(last) + 1);
  for (const Value& source : sources)
    if (source.id() <= last) depends[static_cast<std::size_t>(source.id())] = true;
  for (NodeId id = 0; id <= last; ++id) {
    const Node& node = graph.node(id);
    const bool passes = std::visit([]<class O>(const O&) { return !Constantlike<O>; }, node.op);
    if (passes &&
        std::ranges::any_of(node.inputs, [&](NodeId input) { return depends[static_cast<std::size_t>(input)]; }))
      depends[static_cast<std::size_t>(id)] = true;
  }
  return depends;
}

}  // namespace

std::vector<Value> gradients(Value target, std::span<const Value> sources) {
  Graph& graph = target.graph();
  Trace trace(graph);
  check(is_floating(target.dtype()), ErrorKind::dtype, "gradients", "a target of dtype ", target.dtype(),
        " - expected a float - cast it.");
  const NodeId last = target.id();
  const std::vector<bool> needed = depends_on(graph, sources, last);
  std::vector<Value> d(static_cast<std::size_t>(last) + 1);
  if (needed.back()) {
    const Value one = graph.constant(1, target.dtype());
    d.back() = target.shape().rank() ? graph.append(op::Broadcast{target.shape()}, {one}) : one;
  }
  // Nodes stand in computing order, so one pass from the target back meets every use before its definition.
  for (NodeId id = last; id >= 0; --id) {
    const Value dy = d[static_cast<std::size_t>(id)];
    if (!dy) continue;
    const Node& node = graph.node(id);
    std::vector<Value> x;
    for (NodeId input : node.inputs) x.emplace_back(graph, input);
    if (std::ranges::none_of(node.inputs, [&](NodeId input) { return needed[static_cast<std::size_t>(input)]; }))
      continue;
    const Differential differential{x, Value(graph, id), dy};
    const OperandGradients dx = std::visit([&](const auto& op) { return gradient(op, differential); }, node.op);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto input = static_cast<std::size_t>(node.inputs[i]);
      if (!dx[i] || !needed[input]) continue;
      d[input] = d[input] ? graph.append(op::Add{}, {d[input], dx[i]}) : dx[i];
    }
  }
  std::vector<Value> result;
  for (const Value& source : sources)
    result.push_back(source.id() <= last ? d[static_cast<std::size_t>(source.id())] : Value{});
  return result;
}

std::vector<Value> gradients(Value target, const std::vector<Variable>& variables) {
  std::vector<Value> sources;
  for (const Variable& variable : variables) sources.push_back(target.graph().read(variable));
  return gradients(target, sources);
}

}  // namespace etude
