#include "etude/execution/eager.hpp"

#include "etude/execution/plan.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

Eager::Eager(Graph& graph, Device& device, std::vector<Tensor> inputs)
    : graph_(graph), device_(device), inputs_(std::move(inputs)) {
  graph_.on_append([this](NodeId id) { compute(id); });
  graph_.on_inspect([this](NodeId id) { return value(id); });
}

Eager::~Eager() {
  graph_.on_append({});
  graph_.on_inspect({});
}

void Eager::compute(NodeId id) {
  const Node& node = graph_.node(id);
  values_.resize(graph_.nodes().size());
  if (const auto* input = std::get_if<op::Input>(&node.op)) {
    values_.back() = inputs_[static_cast<std::size_t>(input->index)];
  } else if (const auto* read = std::get_if<op::Read>(&node.op)) {
    values_.back() = read->variable.value();
  } else {
    std::vector<Tensor> operands;
    for (NodeId source : node.inputs) operands.push_back(value(source));
    const Op op = node.op;
    values_.back() = evaluate(device_, operands, [&](std::span<const Value> values) {
                       return std::vector{Graph::current().append(op, values)};
                     }).front();
  }
}

void Eager::commit() const {
  for (const Graph::Assignment& assignment : graph_.assignments()) {
    Variable variable = assignment.variable;
    variable.assign(value(assignment.current));
  }
}

}  // namespace etude
