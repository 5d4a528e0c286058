#include "etude/execution/fusion.hpp"

#include <algorithm>
#include <unordered_set>

#include "etude/execution/matrix_product.hpp"
#include "etude/execution/node_kinds.hpp"

// What a node waits for: which nodes are computed at all, what they read of memory, and who wants what they make.

namespace etude {
namespace {

std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }

}  // namespace

Fusion::Fusion(const Graph& graph, const Wanted& wanted, const Device& device) : graph_(graph), device_(device) {
  find_bases();
  find_levels();
  find_phases(wanted);
  find_transposed_products();
  find_inlined();
  find_dependencies();
  form_groups();
  find_escapes(wanted);
  find_recomputed();
  find_escapes(wanted);
}

void Fusion::find_bases() {
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    const Node& node = graph_.node(id);
    base_.push_back(is_view(graph_, node) ? base_[at(node.inputs[0])] : id);
  }
}

void Fusion::find_levels() {
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    int level = 0;
    for (NodeId input : graph_.node(id).inputs)
      level = std::max(level, level_[at(input)] + is_join(graph_, graph_.node(input)));
    level_.push_back(level);
  }
}

void Fusion::find_phases(const Wanted& wanted) {
  const std::size_t count = graph_.nodes().size();
  phase_.assign(count, Phase::never);
  in_memory_.assign(count, false);
  const auto want = [&](NodeId id, Phase phase) {
    id = base(id);
    in_memory_[at(id)] = true;
    if (phase_[at(id)] != Phase::step) phase_[at(id)] = phase;
  };
  for (NodeId id : wanted.logs) want(id, Phase::logs);
  for (const auto* nodes : {&wanted.results, &wanted.outputs})
    for (NodeId id : *nodes) want(id, Phase::step);
  for (const Graph::Assignment& assignment : graph_.assignments()) want(assignment.current, Phase::step);

  std::unordered_set<const void*> assigned;
  for (const Graph::Assignment& assignment : graph_.assignments()) assigned.insert(assignment.variable.id());
  const auto overwritten = [&](NodeId id) {
    const Node& node = graph_.node(base(id));
    const auto* read = std::get_if<op::Read>(&node.op);
    return is<op::Input>(node) || (read && assigned.contains(read->variable.id()));
  };
  // From the last node to the first: a node is needed when those that read it are. The logs come after the step, when
  // the batch and the variables' old values are gone: who reads those belongs to the step.
  for (auto id = static_cast<NodeId>(count) - 1; id >= 0; --id) {
    Phase& phase = phase_[at(id)];
    if (phase == Phase::never) continue;
    const Node& node = graph_.node(id);
    const bool through = std::ranges::any_of(node.inputs, [&](NodeId input) {
      const Node& producer = graph_.node(base(input));
      return (is_window(producer) || is<op::Transpose>(producer)) && overwritten(producer.inputs[0]);
    });
    if (is_join(graph_, node)) phase = Phase::step;
    if (!is_leaf(node) && (through || std::ranges::any_of(node.inputs, overwritten))) phase = Phase::step;
    for (NodeId input : node.inputs) {
      Phase& needed = phase_[at(base(input))];
      if (needed != Phase::step) needed = phase;
    }
  }
}

/// A product that only a Transpose reads is written as that orders it, and the Transpose is a view of it.
void Fusion::find_transposed_products() {
  const auto count = static_cast<NodeId>(graph_.nodes().size());
  std::vector<NodeId> reader(graph_.nodes().size(), -1);  // -2: several, or it must be in memory as it is
  for (NodeId id = 0; id < count; ++id) {
    if (in_memory_[at(id)]) reader[at(id)] = -2;
    if (phase_[at(id)] == Phase::never || base(id) != id) continue;
    for (NodeId input : graph_.node(id).inputs) {
      NodeId& known = reader[at(base(input))];
      known = known == -1 && input == base(input) ? id : -2;
    }
  }
  written_as_.assign(graph_.nodes().size(), -1);
  for (NodeId id = 0; id < count; ++id) {
    const NodeId transpose = reader[at(id)];
    if (!is<op::MatMul>(graph_.node(id)) || transpose < 0) continue;
    if (!is<op::Transpose>(graph_.node(transpose)) || !keeps_matrices(graph_.node(transpose))) continue;
    written_as_[at(id)] = transpose;
    in_memory_[at(id)] = in_memory_[at(transpose)];
    std::ranges::replace(base_, transpose, id);
  }
}

void Fusion::find_inlined() {
  inlined_.resize(graph_.nodes().size());
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    const auto* scatter = std::get_if<op::PoolScatter>(&graph_.node(id).op);
    inlined_[at(id)] = scatter && fits_convolution(scatter->window) && !in_memory_[at(id)];
  }
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    const Node& node = graph_.node(id);
    if (phase_[at(id)] == Phase::never || base(id) != id) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId source = base(node.inputs[i]);
      const bool is_dy = (is<op::ConvolutionInput>(node) && i == 0) || (is<op::ConvolutionFilter>(node) && i == 1);
      if (!is_dy || source != node.inputs[i] || phase_[at(source)] != phase_[at(id)]) inlined_[at(source)] = false;
    }
  }
}

void Fusion::find_dependencies() {
  dependencies_.resize(graph_.nodes().size());
  readers_.resize(graph_.nodes().size());
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    if (phase_[at(id)] == Phase::never || base(id) != id || inlined(id)) continue;
    for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i) find_dependency(id, i);
  }
}

void Fusion::find_dependency(NodeId id, std::size_t index) {
  const Node& node = graph_.node(id);
  const auto depend = [&](NodeId source) {
    dependencies_[at(id)].push_back(source);
    readers_[at(source)].push_back(id);
  };
  // A kernel that is no program reads memory.
  const auto depend_on_memory = [&](NodeId source) {
    if (is_passing(graph_.node(source))) in_memory_[at(source)] = true;
    depend(source);
  };
  const NodeId source = base(node.inputs[index]);
  const Node& producer = graph_.node(source);
  if (inlined(source)) {
    for (NodeId operand : producer.inputs) depend_on_memory(base(operand));
  } else if (const auto through = is<op::MatMul>(node) ? read_through(*this, node, index) : std::nullopt) {
    depend_on_memory(*through);
  } else if (is<op::Transpose>(producer) || (!is_fusable(graph_, node) && !is_window(node))) {
    depend_on_memory(source);
  } else if (is_window(producer) && !is_window(node)) {
    // One window is read through strides; of two in a row the first must have happened, unless it repeats a number.
    const NodeId inner = base(producer.inputs[0]);
    if (is_window(graph_.node(inner))) in_memory_[at(inner)] = true;
    depend(inner);
  } else {
    if (is_window(producer)) in_memory_[at(source)] = true;
    depend(source);
  }
}

void Fusion::find_escapes(const Wanted& wanted) {
  escapes_.assign(graph_.nodes().size(), false);
  for (const auto* nodes : {&wanted.results, &wanted.logs, &wanted.outputs})
    for (NodeId id : *nodes) escapes_[at(base(id))] = true;
  for (const Graph::Assignment& assignment : graph_.assignments()) escapes_[at(base(assignment.current))] = true;
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    if (group_of(id) < 0) continue;
    for (NodeId source : dependencies(id))
      if (group_of(source) != group_of(id)) escapes_[at(source)] = true;
  }
}

}  // namespace etude
