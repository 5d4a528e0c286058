#include "etude/saving/detail/onnx/traces.hpp"

#include <bit>
#include <cstring>
#include <numeric>

#include "etude/base/error.hpp"
#include "etude/graph/detail/loop.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude::onnx {
namespace {

/// Primes: no product of other extents has one as a factor. Nothing is computed for so many rows.
constexpr std::int64_t rows[]{10007, 10009};

/// Whether variables are the same. One that a trace created counts as a constant.
bool alike(const Variable& a, const Variable& b) {
  if (a == b) return true;
  if (a.name() != b.name() || a.shape() != b.shape() || a.dtype() != b.dtype() || a.trainable() || b.trainable())
    return false;
  const Tensor x = a.value(), y = b.value();
  return std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

/// Whether two ops differ at most in extents, which extent() compares.
bool alike(const Op& a, const Op& b) {
  if (a.index() != b.index()) return false;
  if (std::holds_alternative<op::Input>(a) || std::holds_alternative<op::Broadcast>(a) ||
      std::holds_alternative<op::Reshape>(a))
    return true;
  if (const auto* x = std::get_if<op::Read>(&a)) return alike(x->variable, std::get<op::Read>(b).variable);
  if (const auto* x = std::get_if<op::Constant>(&a))
    return std::bit_cast<std::uint64_t>(x->value) == std::bit_cast<std::uint64_t>(std::get<op::Constant>(b).value);
  if (const auto* x = std::get_if<op::ConvolutionInput>(&a))
    return x->window == std::get<op::ConvolutionInput>(b).window;
  if (const auto* x = std::get_if<op::Scan>(&a)) {
    const auto& y = std::get<op::Scan>(b);
    return x->node == y.node && x->last == y.last && x->loop->steps == y.loop->steps &&
           x->loop->reverse == y.loop->reverse && x->loop->next == y.loop->next;
  }
  return a == b;
}

/// The inputs, and the nodes on which results depend, in their order.
std::vector<NodeId> nodes_behind(const Graph& graph, const std::vector<NodeId>& results) {
  std::vector<bool> needed(graph.nodes().size());
  for (const NodeId id : results) needed[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const NodeId input : graph.nodes()[i].inputs) needed[static_cast<std::size_t>(input)] = true;
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i] || std::holds_alternative<op::Input>(graph.nodes()[i].op)) nodes.push_back(static_cast<NodeId>(i));
  return nodes;
}

std::vector<NodeId> all_nodes(const Graph& graph) {
  std::vector<NodeId> nodes(graph.nodes().size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

std::vector<NodeId> ids_of(const Outputs& outputs) {
  std::vector<NodeId> ids;
  for (const Value& output : outputs) ids.push_back(output.id());
  return ids;
}

}  // namespace

Traces::Traces(const std::vector<InputSpec>& inputs, const Function& function) {
  check(!inputs.empty(), ErrorKind::value, place, "a model without inputs - expected one or more - add an input.");
  const Shape& shape = inputs.front().shape;
  const std::int64_t batch = shape.rank() == 0 ? 1 : shape[0];
  const bool any = batch == -1;
  first_ = trace(inputs, any ? rows[0] : batch, function, outputs_);
  Outputs outputs = outputs_;
  if (any) second_ = trace(inputs, rows[1], function, outputs);
  const Graph& second = any ? *second_ : *first_;
  match(*first_, nodes_behind(*first_, ids_of(outputs_)), second, nodes_behind(second, ids_of(outputs)));
}

std::unique_ptr<Graph> Traces::trace(const std::vector<InputSpec>& inputs, std::int64_t batch, const Function& function,
                                     Outputs& outputs) const {
  auto graph = std::make_unique<Graph>(Shard{.replicas = 1, .rows = batch, .batch = batch});
  const Trace tracing(*graph);
  std::vector<Value> values;
  for (const InputSpec& input : inputs) {
    Shape shape = input.shape;
    if (shape.rank() > 0 && shape[0] == -1) shape[0] = batch;
    values.push_back(graph->input(shape, dtype_from_name(input.dtype)));
  }
  outputs = function(values);
  for (const Graph::Assignment& assignment : graph->assignments())
    fail(ErrorKind::value, place, "a model that changes the variable \"", assignment.variable.name(),
         "\" when it is called - expected a result that depends on the inputs alone, for a file of ONNX has no state "
         "- leave out random draws and layers that keep states between batches.");
  return graph;
}

void Traces::match(const Graph& first, const std::vector<NodeId>& firsts, const Graph& second,
                   const std::vector<NodeId>& seconds) {
  Other& other = others_[&first];
  if (other.graph) return;
  other = {&second, std::vector<NodeId>(first.nodes().size(), -1)};
  bool same = firsts.size() == seconds.size();
  std::string_view differs = "the number of ops";
  for (std::size_t i = 0; same && i < firsts.size(); ++i) {
    const Node &a = first.node(firsts[i]), &b = second.node(seconds[i]);
    same = alike(a.op, b.op) && a.inputs.size() == b.inputs.size() && a.dtype == b.dtype &&
           a.shape.rank() == b.shape.rank();
    for (std::size_t input = 0; same && input < a.inputs.size(); ++input)
      same = other.nodes[static_cast<std::size_t>(a.inputs[input])] == b.inputs[input];
    other.nodes[static_cast<std::size_t>(firsts[i])] = seconds[i];
    differs = name_of(a.op);
    const auto* scan = std::get_if<op::Scan>(&a.op);
    if (!same || !scan) continue;
    const Graph &body = scan->loop->body, &other_body = std::get<op::Scan>(b.op).loop->body;
    match(body, all_nodes(body), other_body, all_nodes(other_body));
  }
  check(same, ErrorKind::value, place, "a model whose ops depend on the size of the batch, in ", differs,
        " - expected the same ops for every size - fix the size by the shapes in input_signature.");
}

Traces::Extent Traces::extent(const Graph& graph, NodeId id, std::size_t axis) const {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const Other& other = others_.at(&graph);
  const std::int64_t a = graph.node(id).shape[at];
  const std::int64_t b = other.graph->node(other.nodes[static_cast<std::size_t>(id)]).shape[at];
  if (a == b) return {.number = a, .per_row = {}};
  if (a % rows[0] == 0 && b % rows[1] == 0 && a / rows[0] == b / rows[1]) return {.number = {}, .per_row = a / rows[0]};
  return {};
}

}  // namespace etude::onnx
