#include <algorithm>
#include <map>

#include "etude/base/error.hpp"
#include "etude/graph/detail/rules.hpp"
#include "etude/graph/graph.hpp"

namespace etude {
namespace {

/// The nodes up to `last` that depend on a source through differentiable ops. Only these need gradients.
std::vector<bool> depends_on(const Graph& graph, std::span<const Value> sources, NodeId last) {
  std::vector<bool> depends(static_cast<std::size_t>(last) + 1);
  for (const Value& source : sources)
    if (source.id() <= last) depends[static_cast<std::size_t>(source.id())] = true;
  for (NodeId id = 0; id <= last; ++id) {
    const Node& node = graph.node(id);
    const bool passes = traits_of(node.op).differentiable;
    if (passes &&
        std::ranges::any_of(node.inputs, [&](NodeId input) { return depends[static_cast<std::size_t>(input)]; }))
      depends[static_cast<std::size_t>(id)] = true;
  }
  return depends;
}

Graph& graph_of(const Value& target) {
  check(static_cast<bool>(target), ErrorKind::value, "gradients",
        "an empty Value as the target - expected a Value of the step being traced - pass the loss.");
  return target.graph();
}

/// The operands of a Concatenate that are neither zero nor empty, by their offset.
std::map<std::int64_t, Value> pieces_of(const Value& value) {
  const auto axis = static_cast<std::ptrdiff_t>(std::get<op::Concatenate>(value.op()).axis);
  std::map<std::int64_t, Value> pieces;
  std::int64_t begin = 0;
  for (NodeId id : value.graph().node(value.id()).inputs) {
    const Value piece(value.graph(), id);
    const auto* constant = std::get_if<op::Constant>(&piece.op());
    const std::int64_t extent = piece.shape()[axis];
    if (extent > 0 && (!constant || constant->value != 0)) pieces.emplace(begin, piece);
    begin += extent;
  }
  return pieces;
}

/// a + b. Gradients of disjoint slices of one Value are zero outside their slice; these are concatenated instead.
Value sum_of(Value a, Value b) {
  const auto *one = std::get_if<op::Concatenate>(&a.op()), *other = std::get_if<op::Concatenate>(&b.op());
  Graph& graph = a.graph();
  if (!one || !other || one->axis != other->axis) return graph.append(op::Add{}, {a, b});
  const auto axis = static_cast<std::ptrdiff_t>(one->axis);
  std::map<std::int64_t, Value> pieces = pieces_of(a);
  const std::size_t count = pieces.size() + pieces_of(b).size();
  pieces.merge(pieces_of(b));
  std::vector<Value> joined;
  std::int64_t end = 0;
  bool apart = pieces.size() == count;
  const auto fill_to = [&](std::int64_t begin) {
    Shape gap = a.shape();
    gap[axis] = begin - end;
    if (gap[axis] > 0) joined.push_back(graph.constant(0, a.dtype(), gap));
  };
  for (const auto& [begin, piece] : pieces) {
    apart = apart && begin >= end;
    fill_to(begin);
    joined.push_back(piece);
    end = begin + piece.shape()[axis];
  }
  fill_to(a.shape()[axis]);
  return apart ? graph.append(*one, joined) : graph.append(op::Add{}, {a, b});
}

}  // namespace

std::vector<Value> pull_back(std::span<const Value> targets, std::span<const Value> d_targets,
                             std::span<const Value> sources) {
  Graph& graph = targets.front().graph();
  Trace trace(graph);
  NodeId last = 0;
  for (const Value& target : targets) last = std::max(last, target.id());
  const std::vector<bool> needed = depends_on(graph, sources, last);
  std::vector<Value> d(static_cast<std::size_t>(last) + 1);
  const auto add = [&](NodeId id, Value dx) {
    Value& sum = d[static_cast<std::size_t>(id)];
    if (dx && needed[static_cast<std::size_t>(id)]) sum = sum ? sum_of(sum, dx) : dx;
  };
  for (std::size_t i = 0; i < targets.size(); ++i) add(targets[i].id(), d_targets[i]);
  // Nodes are in topological order, so one pass from the last target back visits all uses before the definition.
  for (NodeId id = last; id >= 0; --id) {
    const Value dy = d[static_cast<std::size_t>(id)];
    if (!dy) continue;
    const Node& node = graph.node(id);
    if (std::ranges::none_of(node.inputs, [&](NodeId input) { return needed[static_cast<std::size_t>(input)]; }))
      continue;
    std::vector<Value> x;
    for (NodeId input : node.inputs) x.emplace_back(graph, input);
    const Differential differential{x, Value(graph, id), dy};
    const OperandGradients dx = std::visit([&](const auto& op) { return gradient(op, differential); }, node.op);
    for (std::size_t i = 0; i < dx.size(); ++i) add(node.inputs[i], dx[i]);
  }
  std::vector<Value> result;
  for (const Value& source : sources)
    result.push_back(source.id() <= last ? d[static_cast<std::size_t>(source.id())] : Value{});
  return result;
}

std::vector<Value> gradients(Value target, std::span<const Value> sources) {
  Graph& graph = graph_of(target);
  check(is_floating(target.dtype()), ErrorKind::dtype, "gradients", "a target of dtype ", target.dtype(),
        " - expected a float - cast it.");
  std::vector<Value> own;
  for (const Value& source : sources) own.push_back(graph.local(source, "gradients"));
  const Value one = graph.constant(1, target.dtype());
  const Value ones = target.shape().rank() ? graph.append(op::Broadcast{target.shape()}, {one}) : one;
  return pull_back({&target, 1}, {&ones, 1}, own);
}

std::vector<Value> gradients(Value target, const std::vector<Variable>& variables) {
  std::vector<Value> sources;
  for (const Variable& variable : variables) sources.push_back(graph_of(target).read(variable));
  return gradients(target, sources);
}

}  // namespace etude
