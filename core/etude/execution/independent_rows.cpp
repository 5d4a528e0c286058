#include "etude/execution/independent_rows.hpp"

#include <algorithm>

#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

/// Classifies each of the body's Values: it consists of rows, or all rows share it, as they share weights.
class Rows {
 public:
  Rows(const Loop& loop, std::span<const NodeId> wanted)
      : loop_(loop), needed_(loop.body.nodes().size(), false), by_rows_(needed_) {
    const Shape& first = loop.body.node(loop.next.front()).shape;
    count_ = first.rank() > 0 ? first[0] : 0;
    for (const auto& ids : {std::span<const NodeId>(loop.next), wanted})
      for (const NodeId id : ids) needed_[index_of(id)] = true;
    for (auto id = static_cast<NodeId>(needed_.size()) - 1; id >= 0; --id)
      if (needed_[index_of(id)])
        for (const NodeId input : loop.body.node(id).inputs) needed_[index_of(input)] = true;
    for (NodeId id = 0; index_of(id) < needed_.size() && count_ > 0; ++id)
      if (needed_[index_of(id)] && !place(id)) count_ = 0;
    for (const auto& ids : {std::span<const NodeId>(loop.next), wanted})
      for (const NodeId id : ids)
        if (!by_rows(id)) count_ = 0;
  }

  /// The number of rows; 0 if a Value is of neither class.
  std::int64_t count() const { return count_; }

 private:
  static std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id); }
  bool by_rows(NodeId id) const { return by_rows_[index_of(id)]; }
  bool has_rows(NodeId id) const {
    const Shape& shape = loop_.body.node(id).shape;
    return shape.rank() > 0 && shape[0] == count_;
  }

  /// Whether a node is of one of both classes.
  bool place(NodeId id) {
    const Node& node = loop_.body.node(id);
    const bool rows = std::visit([&](const auto& op) { return makes_rows(op, node, id); }, node.op);
    by_rows_[index_of(id)] = rows;
    return rows || is_shared(node);
  }

  /// Whether it is a leaf, or a view of a leaf, which needs no instruction.
  bool is_shared(const Node& node) const {
    if (std::holds_alternative<op::Input>(node.op) || std::holds_alternative<op::Constant>(node.op)) return true;
    return std::holds_alternative<op::Reshape>(node.op) && !by_rows(node.inputs.front());
  }

  bool makes_rows(const op::Input& input, const Node&, NodeId id) const {
    return input.index < loop_.carries + loop_.sequences && has_rows(id);
  }
  bool makes_rows(const op::Broadcast&, const Node& node, NodeId id) const {
    const NodeId from = node.inputs.front();
    return has_rows(id) && (!by_rows(from) || loop_.body.node(from).shape.rank() == node.shape.rank());
  }
  bool makes_rows(const op::Reshape&, const Node& node, NodeId id) const {
    return has_rows(id) && by_rows(node.inputs.front());
  }
  bool makes_rows(const op::MatMul& product, const Node& node, NodeId) const {
    return node.shape.rank() == 2 && !product.transpose_a && by_rows(node.inputs[0]) && !by_rows(node.inputs[1]);
  }
  bool makes_rows(const op::Sum& sum, const Node& node, NodeId) const {
    return sum.first > 0 && by_rows(node.inputs.front());
  }
  bool makes_rows(const op::Max& max, const Node& node, NodeId) const {
    return max.first > 0 && by_rows(node.inputs.front());
  }
  bool makes_rows(const op::Slice& slice, const Node& node, NodeId) const {
    return slice.axis > 0 && by_rows(node.inputs.front());
  }
  bool makes_rows(const op::Concatenate& concatenate, const Node& node, NodeId) const {
    return concatenate.axis > 0 && std::ranges::all_of(node.inputs, [this](NodeId id) { return by_rows(id); });
  }
  /// Elementwise ops.
  template <class Op> bool makes_rows(const Op&, const Node& node, NodeId id) const {
    constexpr bool elementwise = is_elementwise<Op> || std::is_same_v<Op, op::Cast>;
    if (!elementwise || !has_rows(id)) return false;
    const auto fits = [&](NodeId input) {
      return !by_rows(input) || loop_.body.node(input).shape.rank() == node.shape.rank();
    };
    return std::ranges::all_of(node.inputs, fits) &&
           std::ranges::any_of(node.inputs, [this](NodeId input) { return by_rows(input); });
  }

  const Loop& loop_;
  std::vector<bool> needed_, by_rows_;
  std::int64_t count_;
};

bool works_by_rows(const instruction::Gemm& gemm, std::int64_t rows) {
  return gemm.batch.rank() == 0 && !gemm.a.transposed && gemm.m == rows;
}
bool works_by_rows(const instruction::Elementwise& elementwise, std::int64_t rows) {
  const std::int64_t row = std::max<std::int64_t>(elementwise.program.row, 1);
  return std::ranges::all_of(elementwise.segments, [&](const instruction::Segment& segment) {
    return segment.size % rows == 0 && segment.size / rows % row == 0;
  });
}
bool works_by_rows(const auto&, std::int64_t) { return false; }

}  // namespace

std::int64_t independent_rows(const Loop& loop, std::span<const NodeId> wanted, std::span<const Instruction> body) {
  if (loop.next.empty()) return 0;
  const std::int64_t rows = Rows(loop, wanted).count();
  const bool all = rows > 0 && std::ranges::all_of(body, [&](const Instruction& instruction) {
                     return std::visit([&](const auto& one) { return works_by_rows(one, rows); }, instruction);
                   });
  return all ? rows : 0;
}

}  // namespace etude
