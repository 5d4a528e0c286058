#include "etude/execution/find_dataflow.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "etude/execution/matrix_product.hpp"
#include "etude/execution/node_kinds.hpp"
#include "etude/execution/strided_source.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

void find_bases(Dataflow& flow) {
  for (NodeId id = 0; id < flow.count(); ++id) {
    const Node& node = flow.graph.node(id);
    flow.base.push_back(is_view(flow.graph, node) ? flow.base[node.inputs[0]] : id);
  }
}

void find_levels(Dataflow& flow) {
  for (NodeId id = 0; id < flow.count(); ++id) {
    int level = 0;
    for (NodeId input : flow.operands(id))
      level = std::max(level, flow.level[input] + is_all_reduce(flow.graph, flow.graph.node(input)));
    flow.level.push_back(level);
  }
}

void find_phases(Dataflow& flow, const Wanted& wanted) {
  const Graph& graph = flow.graph;
  flow.phase.assign(graph.nodes().size(), Phase::never);
  flow.in_memory.assign(graph.nodes().size(), false);
  const auto want = [&](NodeId id, Phase phase) {
    id = flow.base[id];
    flow.in_memory[id] = true;
    if (flow.phase[id] != Phase::step) flow.phase[id] = phase;
  };
  for (NodeId id : wanted.logs) want(id, Phase::logs);
  for (const auto* nodes : {&wanted.results, &wanted.outputs})
    for (NodeId id : *nodes) want(id, Phase::step);
  for (const Graph::Assignment& assignment : graph.assignments()) want(assignment.current, Phase::step);

  std::unordered_set<const void*> assigned;
  for (const Graph::Assignment& assignment : graph.assignments()) assigned.insert(assignment.variable.id());
  const auto overwritten = [&](NodeId id) {
    const Node& node = graph.node(flow.base[id]);
    const auto* read = std::get_if<op::Read>(&node.op);
    return is<op::Input>(node) || (read && assigned.contains(read->variable.id()));
  };
  // From the last node to the first: a node is needed if a node that reads it is. Logs are computed after the step,
  // when the batch and the old values of variables are gone. So nodes that read these are computed in the step.
  for (NodeId id = flow.count() - 1; id >= 0; --id) {
    Phase& phase = flow.phase[id];
    if (phase == Phase::never) continue;
    const Node& node = graph.node(id);
    const std::span<const NodeId> operands = flow.operands(id);
    const bool through = std::ranges::any_of(operands, [&](NodeId input) {
      const Node& producer = graph.node(flow.base[input]);
      return (is_window(producer) || is<op::Transpose>(producer)) && overwritten(producer.inputs[0]);
    });
    if (is_all_reduce(graph, node)) phase = Phase::step;
    if (!is_leaf(node) && (through || std::ranges::any_of(operands, overwritten))) phase = Phase::step;
    for (NodeId input : operands) {
      Phase& needed = flow.phase[flow.base[input]];
      if (needed != Phase::step) needed = phase;
    }
  }
}

/// Whether a node is computed from an operand that it reads in any order: a gradient, from the result of attention.
bool reads_any_order(const Dataflow& flow, NodeId id, NodeId operand) {
  const AttentionPattern* attention = flow.attention.at(id);
  return attention && attention->is_gradient(id) && operand == attention->output;
}

/// Lets a product that only a Transpose reads write its result in that order. The Transpose becomes a view of it.
void find_transposed_products(Dataflow& flow) {
  IdVector<NodeId> reader(flow.base.size(), -1);  // -2: several, or it must be in memory as it is
  for (NodeId id = 0; id < flow.count(); ++id) {
    if (flow.in_memory[id]) reader[id] = -2;
    if (flow.phase[id] == Phase::never || !flow.is_base(id)) continue;
    for (NodeId input : flow.operands(id)) {
      if (reads_any_order(flow, id, input)) continue;
      NodeId& known = reader[flow.base[input]];
      known = known == -1 && flow.is_base(input) ? id : -2;
    }
  }
  flow.written_as.assign(flow.base.size(), -1);
  for (NodeId id = 0; id < flow.count(); ++id) {
    const NodeId transpose = reader[id];
    if (!is<op::MatMul>(flow.graph.node(id)) || transpose < 0) continue;
    if (!is<op::Transpose>(flow.graph.node(transpose)) || !keeps_matrices(flow.graph.node(transpose))) continue;
    flow.written_as[id] = transpose;
    flow.in_memory[id] = flow.in_memory[transpose];
    std::ranges::replace(flow.base, transpose, id);
  }
}

void find_inlined(Dataflow& flow) {
  for (NodeId id = 0; id < flow.count(); ++id) {
    const auto* scatter = std::get_if<op::PoolScatter>(&flow.graph.node(id).op);
    flow.inlined.push_back(scatter && fits_convolution(scatter->window) && !flow.in_memory[id]);
  }
  for (NodeId id = 0; id < flow.count(); ++id) {
    const Node& node = flow.graph.node(id);
    if (flow.phase[id] == Phase::never || !flow.is_base(id)) continue;
    const std::span<const NodeId> operands = flow.operands(id);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const NodeId source = flow.base[operands[i]];
      const bool is_dy = (is<op::ConvolutionInput>(node) && i == 0) || (is<op::ConvolutionFilter>(node) && i == 1);
      if (!is_dy || source != operands[i] || flow.phase[source] != flow.phase[id]) flow.inlined[source] = false;
    }
  }
}

void find_dependency(Dataflow& flow, NodeId id, std::size_t index) {
  const Graph& graph = flow.graph;
  const Node& node = graph.node(id);
  const auto depend = [&](NodeId source) {
    flow.dependencies[id].push_back(source);
    flow.readers[source].push_back(id);
  };
  // Kernels, unlike programs, read all operands from memory.
  const auto depend_on_memory = [&](NodeId source) {
    if (is_passing(graph.node(source))) flow.in_memory[source] = true;
    depend(source);
  };
  const NodeId operand = flow.operands(id)[index], source = flow.base[operand];
  const Node& producer = graph.node(source);
  if (flow.attention.at(id)) {
    depend_on_memory(strided_source(flow, operand).node);
  } else if (flow.inlined[source]) {
    for (NodeId input : producer.inputs) depend_on_memory(flow.base[input]);
  } else if (const auto through = is<op::MatMul>(node) ? read_through(flow, node, index) : std::nullopt) {
    depend_on_memory(*through);
  } else if (is<op::Transpose>(producer) || (!is_fusable(graph, node) && !is_window(node))) {
    depend_on_memory(source);
  } else if (is_window(producer) && !is_window(node)) {
    // A program reads one window through strides. If two follow each other, the first must be in memory, unless it
    // repeats a number.
    const NodeId inner = flow.base[producer.inputs[0]];
    if (is_window(graph.node(inner))) flow.in_memory[inner] = true;
    depend(inner);
  } else {
    if (is_window(producer)) flow.in_memory[source] = true;
    depend(source);
  }
}

void find_dependencies(Dataflow& flow) {
  flow.dependencies.resize(flow.base.size());
  flow.readers.resize(flow.base.size());
  for (NodeId id = 0; id < flow.count(); ++id) {
    if (flow.phase[id] == Phase::never || !flow.is_base(id) || flow.inlined[id]) continue;
    for (std::size_t i = 0; i < flow.operands(id).size(); ++i) find_dependency(flow, id, i);
  }
}

}  // namespace

Dataflow find_dataflow(const Graph& graph, const Wanted& wanted, AttentionPatterns attention) {
  Dataflow flow{graph, std::move(attention)};
  find_bases(flow);
  find_levels(flow);
  find_phases(flow, wanted);
  find_transposed_products(flow);
  find_inlined(flow);
  find_dependencies(flow);
  return flow;
}

}  // namespace etude
