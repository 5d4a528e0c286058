#include "etude/execution/find_attention.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "etude/execution/node_kinds.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

/// The nodes that read each node, without those that nothing wanted is computed from; and the wanted nodes.
struct Readers {
  Readers(const Graph& graph, const Wanted& wanted) : of(graph.nodes().size()), kept(graph.nodes().size(), false) {
    for (const auto* nodes : {&wanted.results, &wanted.logs, &wanted.outputs})
      for (const NodeId id : *nodes) kept[id] = true;
    for (const Graph::Assignment& assignment : graph.assignments()) kept[assignment.current] = true;
    for (auto id = static_cast<NodeId>(graph.nodes().size()) - 1; id >= 0; --id)
      if (kept[id] || !of[id].empty())
        for (const NodeId input : graph.node(id).inputs) of[input].push_back(id);
  }

  IdVector<std::vector<NodeId>> of;
  IdFlags kept;
};

/// Matches the nodes around one Softmax. Casts between float32 and half precision may lie between any two of them.
class Matcher {
 public:
  Matcher(const Graph& graph, const Readers& readers, NodeId weights) : graph_(graph), readers_(readers) {
    found_.weights = weights;
  }

  std::optional<AttentionPattern> match() {
    if (!match_scores() || !match_output()) return std::nullopt;
    match_gradients();
    list_operands();
    if (!is_closed() || !has_one_dtype()) return std::nullopt;
    return found_;
  }

 private:
  const Node& node(NodeId id) const { return graph_.node(id); }
  bool is_inside(NodeId id) const { return std::ranges::find(inside_, id) != inside_.end(); }
  /// Whether a node is a cast between floats.
  bool is_rounding(NodeId id) const {
    return is<op::Cast>(node(id)) && is_floating(node(id).dtype) && is_floating(node(node(id).inputs[0]).dtype);
  }
  /// The node before casts.
  NodeId before_casts(NodeId id) const {
    while (is_rounding(id)) id = node(id).inputs[0];
    return id;
  }
  /// The same. The node and its casts are inside the pattern.
  NodeId enter(NodeId id) {
    for (; is_rounding(id); id = node(id).inputs[0]) inside_.push_back(id);
    inside_.push_back(id);
    return id;
  }
  /// A node and the casts of it. All are inside the pattern.
  std::vector<NodeId> with_casts(NodeId id) {
    std::vector<NodeId> result{id};
    for (std::size_t i = 0; i < result.size(); ++i) {
      inside_.push_back(result[i]);
      for (const NodeId reader : readers_.of[result[i]])
        if (is_rounding(reader)) result.push_back(reader);
    }
    return result;
  }
  std::optional<double> number(NodeId id) const {
    const auto* constant = std::get_if<op::Constant>(&node(before_casts(id)).op);
    return constant ? std::optional(constant->value) : std::nullopt;
  }
  /// The other operand and the number, if a node is a product with a number.
  std::optional<std::pair<NodeId, double>> scaled(NodeId id) const {
    if (!is<op::Multiply>(node(id))) return std::nullopt;
    const NodeId a = node(id).inputs[0], b = node(id).inputs[1];
    if (const auto scale = number(b)) return std::pair(a, *scale);
    if (const auto scale = number(a)) return std::pair(b, *scale);
    return std::nullopt;
  }
  /// Whether a node is a product of matrices whose operands are transposed like this.
  bool is_product(NodeId id, bool transpose_a, bool transpose_b) const {
    const auto* product = std::get_if<op::MatMul>(&node(id).op);
    return product && product->transpose_a == transpose_a && product->transpose_b == transpose_b;
  }
  /// The product of one of `nodes` and another node, which is -1 if any will do. -1 if there is none.
  NodeId product_of(const std::vector<NodeId>& nodes, NodeId other, bool transpose_a) const {
    for (const NodeId id : nodes)
      for (const NodeId reader : readers_.of[id])
        if (is_product(reader, transpose_a, false) && node(reader).inputs[0] == id &&
            (other < 0 || node(reader).inputs[1] == other))
          return reader;
    return -1;
  }

  /// query · keyᵀ · scale + (1 − mask) · absent; scale and mask may be missing.
  bool match_scores() {
    NodeId scores = enter(node(found_.weights).inputs[0]);
    if (is<op::Add>(node(scores))) {
      const NodeId a = node(scores).inputs[0], b = node(scores).inputs[1];
      if (match_mask(b))
        scores = enter(a);
      else if (match_mask(a))
        scores = enter(b);
    }
    if (const auto product = scaled(scores)) {
      found_.scale = product->second;
      scores = enter(product->first);
    }
    if (!is_product(scores, false, true)) return false;
    found_.query = node(scores).inputs[0];
    found_.key = node(scores).inputs[1];
    return true;
  }

  /// (1 − mask) · absent, repeated to the shape of the scores. Other nodes may read it.
  bool match_mask(NodeId id) {
    id = before_casts(id);
    if (is<op::Broadcast>(node(id))) id = before_casts(node(id).inputs[0]);
    const auto product = scaled(id);
    const NodeId difference = product ? before_casts(product->first) : -1;
    if (!product || !is<op::Subtract>(node(difference)) || number(node(difference).inputs[0]) != 1) return false;
    const NodeId mask = before_casts(node(difference).inputs[1]);
    if (!is<op::Cast>(node(mask)) || node(node(mask).inputs[0]).dtype != DType::boolean) return false;
    found_.mask = node(mask).inputs[0];
    found_.absent = product->second;
    return true;
  }

  bool match_output() {
    weights_ = with_casts(found_.weights);
    found_.output = product_of(weights_, -1, false);
    if (found_.output < 0) return false;
    found_.value = node(found_.output).inputs[1];
    return true;
  }

  /// d_value = weightsᵀ · d_output, and d_scores = weights ∘ (d_weights − sum of rows of (d_weights ∘ weights)) with
  /// d_weights = d_output · valueᵀ.
  void match_gradients() {
    found_.d_value = product_of(weights_, -1, true);
    if (found_.d_value >= 0) found_.d_output = node(found_.d_value).inputs[1];
    for (const NodeId id : weights_)
      for (const NodeId reader : readers_.of[id])
        if (is<op::Multiply>(node(reader)) && match_difference(node(reader).inputs[1])) match_products(reader);
  }

  bool match_difference(NodeId difference) {
    if (!is<op::Subtract>(node(difference))) return false;
    const NodeId d_weights = node(difference).inputs[0];
    NodeId sum = node(difference).inputs[1];
    std::vector<NodeId> between{difference};
    for (; is<op::Broadcast, op::Reshape>(node(sum)); sum = node(sum).inputs[0]) between.push_back(sum);
    const auto* along = std::get_if<op::Sum>(&node(sum).op);
    const NodeId product = along ? node(sum).inputs[0] : -1;
    if (!along || along->first + std::size_t{along->count} != node(product).shape.rank() || along->count != 1 ||
        !is<op::Multiply>(node(product)) || node(product).inputs[0] != d_weights ||
        std::ranges::find(weights_, node(product).inputs[1]) == weights_.end())
      return false;
    const NodeId source = before_casts(d_weights);
    if (!is_product(source, false, true) || node(source).inputs[1] != found_.value) return false;
    if (found_.d_output >= 0 && node(source).inputs[0] != found_.d_output) return false;
    found_.d_output = node(source).inputs[0];
    inside_.insert(inside_.end(), between.begin(), between.end());
    inside_.insert(inside_.end(), {sum, product});
    enter(d_weights);
    return true;
  }

  /// d_query = d_scores · scale · key, d_key = (d_scores · scale)ᵀ · query.
  void match_products(NodeId d_scores) {
    std::vector<NodeId> sources = with_casts(d_scores);
    if (found_.scale != 1) sources = with_casts(scaled_reader(sources));
    found_.d_query = product_of(sources, found_.key, false);
    found_.d_key = product_of(sources, found_.query, true);
  }

  /// The product of one of `nodes` and the scale; the first of them if there is none.
  NodeId scaled_reader(const std::vector<NodeId>& nodes) const {
    for (const NodeId id : nodes)
      for (const NodeId reader : readers_.of[id])
        if (const auto product = scaled(reader); product && product->second == found_.scale) return reader;
    return nodes.front();
  }

  /// Whether only nodes of the pattern read those inside it, and its instructions read none of them but the weights.
  bool is_closed() const {
    const auto belongs = [&](NodeId id) { return id == found_.output || found_.is_gradient(id) || is_inside(id); };
    return std::ranges::all_of(inside_,
                               [&](NodeId id) {
                                 const std::vector<NodeId>& operands = found_.gradient_operands;
                                 return !readers_.kept[id] && std::ranges::all_of(readers_.of[id], belongs) &&
                                        (id == found_.weights || std::ranges::find(operands, id) == operands.end());
                               }) &&
           std::ranges::find(found_.operands, found_.weights) == found_.operands.end();
  }

  /// Whether all operands and results are stored alike, and nothing inside is computed more exactly than float32 where
  /// they are narrower.
  bool has_one_dtype() const {
    const DType dtype = node(found_.output).dtype;
    const auto fits = [&](NodeId id) {
      return node(id).dtype == dtype || (is_half(dtype) && node(id).dtype == DType::float32);
    };
    return node(found_.query).dtype == dtype && std::ranges::all_of(inside_, fits);
  }

  void list_operands() {
    found_.operands = {found_.query, found_.key, found_.value};
    if (found_.mask >= 0) found_.operands.push_back(found_.mask);
    found_.gradient_operands = found_.operands;
    if (found_.d_output >= 0)
      found_.gradient_operands.insert(found_.gradient_operands.end(), {found_.weights, found_.output, found_.d_output});
  }

  const Graph& graph_;
  const Readers& readers_;
  AttentionPattern found_;
  std::vector<NodeId> inside_, weights_;
};

}  // namespace

instruction::AttentionShape attention_shape(const Graph& graph, const AttentionPattern& pattern) {
  const Shape &query = graph.node(pattern.query).shape, &value = graph.node(pattern.value).shape;
  return {.batch = query.slice(0, query.rank() - 2),
          .queries = query[-2],
          .keys = value[-2],
          .depth = query[-1],
          .width = value[-1],
          .dtype = graph.node(pattern.output).dtype,
          .scale = pattern.scale,
          .is_masked = pattern.mask >= 0,
          .absent = pattern.absent};
}

std::size_t statistics_bytes(const instruction::AttentionShape& shape) {
  return static_cast<std::size_t>(shape.batch.size() * shape.queries) * 2 * sizeof(float);
}

AttentionPatterns find_attention(const Graph& graph, const Wanted& wanted, const Device& device) {
  AttentionPatterns patterns;
  std::optional<Readers> readers;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (!is<op::Softmax>(graph.node(id)) || graph.node(id).shape.rank() < 2) continue;
    if (!readers) readers.emplace(graph, wanted);
    const std::optional<AttentionPattern> pattern = Matcher(graph, *readers, id).match();
    if (pattern && device.attends(attention_shape(graph, *pattern))) patterns.add(*pattern, graph.nodes().size());
  }
  return patterns;
}

}  // namespace etude
