#include "etude/saving/detail/onnx/graph_writer.hpp"

#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude::onnx {
namespace {

/// Whether a node is written where its elements are needed.
bool written_later(const Op& op) {
  return std::holds_alternative<op::Constant>(op) || std::holds_alternative<op::Broadcast>(op) ||
         std::holds_alternative<op::PoolArgMax>(op) || std::holds_alternative<op::Input>(op);
}

/// The operand that has the elements which a Broadcast repeats.
NodeId source_of(const Graph& graph, NodeId id) {
  while (std::holds_alternative<op::Broadcast>(graph.node(id).op)) id = graph.node(id).inputs[0];
  return id;
}

}  // namespace

GraphWriter::GraphWriter(OnnxFile& file, const Traces& traces, const std::map<const void*, std::string>& names)
    : file_(file),
      traces_(traces),
      variable_names_(names),
      graph_(traces.graph()),
      needed_(graph_.nodes().size()),
      full_(graph_.nodes().size()),
      wanted_(graph_.nodes().size()) {}

GraphWriter::GraphWriter(GraphWriter& outer, const Graph& body)
    : file_(outer.file_),
      traces_(outer.traces_),
      variable_names_(outer.variable_names_),
      graph_(body),
      outer_(&outer),
      needed_(body.nodes().size()),
      full_(body.nodes().size()),
      wanted_(body.nodes().size()) {}

void GraphWriter::write(const std::vector<NodeId>& results, const Names& names) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    needed_[at(results[i])] = true;
    wanted_[at(results[i])] = names[i];
  }
  for (std::size_t i = needed_.size(); i-- > 0;)
    if (needed_[i])
      for (const NodeId input : graph_.nodes()[i].inputs) needed_[at(input)] = true;
  for (NodeId id = 0; at(id) < needed_.size(); ++id)
    if (needed_[at(id)] && full_[at(id)].empty() && !written_later(graph_.node(id).op))
      full_[at(id)] = write_node(*this, id);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const std::string name = full(results[i]); name != names[i]) add("Identity", {name}, {}, names[i]);
}

Message GraphWriter::graph(const std::string& name, const std::vector<ValueInfo>& inputs,
                           const std::vector<ValueInfo>& outputs) const {
  return nodes_.graph(name, inputs, outputs, first_nodes_.bytes());
}

ValueInfo GraphWriter::info(NodeId id, const std::string& name) const {
  const Node& node = graph_.node(id);
  ValueInfo result{name, node.dtype, {}};
  for (std::size_t axis = 0; axis < node.shape.rank(); ++axis) {
    const auto [number, per_row] = traces_.extent(graph_, id, axis);
    if (number)
      result.shape.emplace_back(*number);
    else
      result.shape.emplace_back(per_row == 1 ? "batch" : "");
  }
  return result;
}

std::string GraphWriter::full(NodeId id) {
  std::string& name = full_[at(id)];
  if (!name.empty()) return name;
  const Node& node = graph_.node(id);
  if (const auto* constant = std::get_if<op::Constant>(&node.op)) {
    const std::string scalar = file_.scalar(constant->value, node.dtype);
    return name = node.shape.rank() == 0 ? scalar : add("Expand", {scalar, extents(id, -1)}, {}, result_name(id));
  }
  if (!std::holds_alternative<op::Broadcast>(node.op)) refuse(id);
  const NodeId source = source_of(graph_, id);
  const bool is_constant = std::holds_alternative<op::Constant>(graph_.node(source).op);
  const std::string x =
      is_constant ? file_.scalar(std::get<op::Constant>(graph_.node(source).op).value, node.dtype) : full(source);
  return full_[at(id)] = add("Expand", {x, extents(id, is_constant ? -1 : source)}, {}, result_name(id));
}

Names GraphWriter::elementwise_operands(const Node& node) {
  Shape together;
  for (const NodeId input : node.inputs) {
    const Node& source = graph_.node(source_of(graph_, input));
    if (!std::holds_alternative<op::Constant>(source.op)) together = broadcast_shapes(together, source.shape, place);
  }
  Names names;
  for (const NodeId input : node.inputs) {
    const NodeId source = source_of(graph_, input);
    const auto* constant = std::get_if<op::Constant>(&graph_.node(source).op);
    if (together != node.shape)
      names.push_back(full(input));
    else
      names.push_back(constant ? file_.scalar(constant->value, constant->dtype) : full(source));
  }
  return names;
}

std::string GraphWriter::result_name(NodeId id) {
  const std::string& wanted = wanted_[at(id)];
  return wanted.empty() ? file_.unique(name_of(graph_.node(id).op)) : wanted;
}

std::string GraphWriter::add(std::string_view op_type, const Names& inputs, const Attributes& attributes,
                             const std::string& output) {
  std::string name = output.empty() ? file_.unique(op_type) : output;
  nodes_.add(op_type, inputs, {name}, attributes);
  return name;
}

std::string GraphWriter::cast(const std::string& x, DType dtype, const std::string& output) {
  return add("Cast", {x}, {{"to", std::int64_t{data_type(dtype)}}}, output);
}

std::string GraphWriter::transpose(const std::string& x, const std::vector<std::int64_t>& order,
                                   const std::string& output) {
  return add("Transpose", {x}, {{"perm", order}}, output);
}

std::string GraphWriter::extents(NodeId id, NodeId source) {
  const Node& node = graph_.node(id);
  const std::size_t rank = node.shape.rank();
  std::vector<std::int64_t> numbers;  // since the last extent that is not one
  Names parts;
  const auto end_numbers = [&] {
    if (!numbers.empty()) parts.push_back(file_.integers(numbers));
    numbers.clear();
  };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Traces::Extent extent = traces_.extent(graph_, id, axis);
    if (extent.number) {
      numbers.push_back(*extent.number);
      continue;
    }
    const std::size_t of_source = source < 0 ? 0 : graph_.node(source).shape.rank();
    const auto place_in_source = static_cast<std::ptrdiff_t>(axis + of_source) - static_cast<std::ptrdiff_t>(rank);
    if (source >= 0 && place_in_source >= 0 &&
        graph_.node(source).shape[place_in_source] == node.shape[static_cast<std::ptrdiff_t>(axis)]) {
      numbers.push_back(1);
      continue;
    }
    check(extent.per_row.has_value(), ErrorKind::value, place, "a ", name_of(node.op), " to shape ", node.shape,
          ", of which an extent is no multiple of the number of rows - expected multiples - fix the size of the batch "
          "by the shapes in input_signature.");
    end_numbers();
    parts.push_back(rows(*extent.per_row));
  }
  end_numbers();
  return parts.size() == 1 ? parts.front() : add("Concat", parts, {{"axis", std::int64_t{0}}});
}

std::string GraphWriter::rows(std::int64_t factor) {
  if (outer_) return outer_->rows(factor);
  std::string& name = rows_[factor];
  if (!name.empty()) return name;
  name = file_.unique("rows");
  if (factor == 1) {
    const auto first = std::ranges::find_if(
        graph_.nodes(), [](const Node& node) { return std::holds_alternative<op::Input>(node.op); });
    const std::string& input = full_[static_cast<std::size_t>(first - graph_.nodes().begin())];
    first_nodes_.add("Shape", {input}, {name}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  } else {
    const std::string one = rows(1);
    first_nodes_.add("Mul", {one, file_.integers({factor})}, {name});
  }
  return name;
}

void GraphWriter::refuse(NodeId id) const {
  fail(ErrorKind::value, place, "the op ", name_of(graph_.node(id).op),
       " has no ONNX form - expected ops that ONNX has - leave out the layer that computes it.");
}

}  // namespace etude::onnx
