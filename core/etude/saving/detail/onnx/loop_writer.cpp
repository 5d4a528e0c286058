#include <algorithm>

#include "etude/graph/detail/loop.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/saving/detail/onnx/node_writer.hpp"

namespace etude::onnx {
namespace {

/// The needed results of a loop: nodes with the same body and operands.
std::vector<NodeId> results_of(const Graph& graph, const std::vector<bool>& needed, const Node& node) {
  const auto& scan = std::get<op::Scan>(node.op);
  std::vector<NodeId> results;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const auto* other = std::get_if<op::Scan>(&graph.node(id).op);
    if (other && needed[static_cast<std::size_t>(id)] && other->loop == scan.loop &&
        graph.node(id).inputs == node.inputs)
      results.push_back(id);
  }
  return results;
}

}  // namespace

/// All results of a loop are outputs of one Scan: its final carried Values, and after them what it stacks.
std::string NodeWriter::of(const op::Scan& op) {
  const Loop& loop = *op.loop;
  const std::vector<NodeId> results = results_of(to.graph_, to.needed_, node());
  GraphWriter body(to, loop.body);
  std::vector<ValueInfo> inputs, outputs;
  Names operands, names, result_names;
  for (NodeId inner = 0; inner < static_cast<NodeId>(loop.body.nodes().size()); ++inner) {
    const auto* input = std::get_if<op::Input>(&loop.body.node(inner).op);
    if (!input) continue;
    const std::string outside = x(static_cast<std::size_t>(input->index));
    if (input->index >= loop.carries + loop.sequences) {
      body.name_input(inner, outside);  // a body may use names from outside
      continue;
    }
    // Inputs are in the order of their indices: those that a body does not read, too.
    operands.push_back(outside);
    inputs.push_back(body.info(inner, to.file_.unique(input->index < loop.carries ? "carried" : "entry")));
    body.name_input(inner, inputs.back().name);
  }

  std::vector<NodeId> nodes = loop.next;
  std::vector<std::string> finals(loop.next.size());
  for (const NodeId each : results) {
    const auto& scan = std::get<op::Scan>(to.graph_.node(each).op);
    const std::string name = to.result_name(each);
    to.full_[GraphWriter::at(each)] = name;
    if (scan.last) {
      finals[static_cast<std::size_t>(loop.carry_after(scan.node))] = name;
    } else {
      nodes.push_back(scan.node);
      names.push_back(name);
    }
  }
  for (std::string& name : finals)
    if (name.empty()) name = to.file_.unique("unused");
  names.insert(names.begin(), finals.begin(), finals.end());
  for (const NodeId each : nodes) {
    result_names.push_back(to.file_.unique("result"));
    outputs.push_back(body.info(each, result_names.back()));
  }
  body.write(nodes, result_names);

  const std::vector<std::int64_t> inputs_back(static_cast<std::size_t>(loop.sequences), loop.reverse);
  const std::vector<std::int64_t> outputs_back(nodes.size() - loop.next.size(), loop.reverse);
  Attributes attributes{{"body", body.graph("body", inputs, outputs)},
                        {"num_scan_inputs", std::int64_t{loop.sequences}},
                        {"scan_input_directions", inputs_back}};
  if (!outputs_back.empty()) attributes.push_back({"scan_output_directions", outputs_back});
  to.nodes_.add("Scan", operands, names, attributes);
  return to.full_[GraphWriter::at(id)];
}

}  // namespace etude::onnx
