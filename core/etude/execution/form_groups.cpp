#include "etude/execution/form_groups.hpp"

#include <algorithm>
#include <iterator>

#include "etude/execution/access.hpp"
#include "etude/execution/group_links.hpp"
#include "etude/execution/live_numbers.hpp"
#include "etude/execution/node_kinds.hpp"
#include "etude/execution/window_shapes.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

/// The most operands that a program may read and write: a GPU's kernel has 4 KB for addresses and 255 registers, and on
/// a CPU the tiles of operands share a cache of 1 MB.
constexpr std::size_t most_operands = 64;
/// The most nodes that a program may compute. Whether groups can be merged is decided for each node again, so that
/// longer groups would make the time of a compilation quadratic; their programs would be no faster.
constexpr std::size_t most_members = 256;

/// Visits the nodes in order. Each becomes a group. A group is merged with earlier groups if one instruction can
/// compute both.
class GroupFormer {
 public:
  GroupFormer(const Dataflow& flow, const Device& device) : flow_(flow), graph_(flow.graph), device_(device) {}

  Grouping form() {
    grouping_.group_of.assign(graph_.nodes().size(), -1);
    for (NodeId id = 0; id < flow_.count(); ++id)
      if (needs_group(id)) add(id);
    return std::move(grouping_);
  }

 private:
  Group& group(int index) { return grouping_.groups[index]; }
  const Group& group(int index) const { return grouping_.groups[index]; }
  int group_of(NodeId id) const { return grouping_.group_of[id]; }

  bool needs_group(NodeId id) const {
    const Node& node = graph_.node(id);
    if (flow_.phase[id] == Phase::never || !flow_.is_base(id) || is_leaf(node) || flow_.inlined[id]) return false;
    return !is_passing(node) || flow_.in_memory[id];
  }

  void add(NodeId id) {
    const Node& node = graph_.node(id);
    if (is_implicit(node)) return new_group(id, false);
    if (flow_.attention.at(id)) return add_attention(id);
    if (add_to_loop(id)) return;
    new_group(id, !is_fusable(graph_, node));
    if (is<op::PoolGather>(node)) form_pooling(id);
    if (is_fusable(graph_, node)) fuse_with_operands(id);
  }

  void new_group(NodeId id, bool anchor) {
    Group group;
    if (anchor)
      group.anchor = id;
    else
      group.members.push_back(id);
    group.row = row_of(graph_, graph_.node(id));
    group.size = graph_.node(group.row ? graph_.node(id).inputs[0] : id).shape.size();
    group.last = id;
    group.phase = flow_.phase[id];
    group.level = flow_.level[id];
    grouping_.group_of[id] = grouping_.count();
    grouping_.groups.push_back(std::move(group));
  }

  /// One instruction computes all results of a loop. It waits only for the dependencies of its first result.
  bool add_to_loop(NodeId id) {
    const auto* scan = std::get_if<op::Scan>(&graph_.node(id).op);
    if (!scan) return false;
    const auto first = std::ranges::find_if(grouping_.groups, [&](const Group& group) {
      const auto* other = group.anchor < 0 ? nullptr : std::get_if<op::Scan>(&graph_.node(group.anchor).op);
      return other && other->loop == scan->loop && graph_.node(group.anchor).inputs == graph_.node(id).inputs;
    });
    if (first == grouping_.groups.end()) return false;
    join(id, static_cast<int>(first - grouping_.groups.begin()));
    return true;
  }

  /// Adds a node to those that a group's kernel computes.
  void join(NodeId id, int index) {
    Group& first = group(index);
    first.inner.push_back(id);
    first.last = std::max(first.last, id);
    first.phase = std::min(first.phase, flow_.phase[id]);
    grouping_.group_of[id] = index;
  }

  /// One instruction computes the output of attention and its rows' statistics, and one all gradients.
  void add_attention(NodeId id) {
    const AttentionPattern& attention = *flow_.attention.at(id);
    if (id == attention.weights) return;  // added with the output
    const auto is_added = [&](NodeId other) { return attention.is_gradient(id) && other >= 0 && group_of(other) >= 0; };
    for (const NodeId other : {attention.d_query, attention.d_key, attention.d_value})
      if (is_added(other)) return join(id, group_of(other));
    new_group(id, true);
    if (id == attention.output && flow_.phase[attention.weights] != Phase::never) join(attention.weights, group_of(id));
  }

  /// One kernel finds the maximum of a window and its index. A convolution whose result only the pooling reads is
  /// pooled as it is computed.
  void form_pooling(NodeId gather) {
    const NodeId x = flow_.dependencies[gather][0], index = flow_.dependencies[gather][1];
    const auto* argmax = std::get_if<op::PoolArgMax>(&graph_.node(index).op);
    const Window& window = std::get<op::PoolGather>(graph_.node(gather).op).window;
    const auto absorb = [&](NodeId id) {
      group(group_of(id)) = Group{};
      grouping_.group_of[id] = group_of(gather);
      group(group_of(gather)).inner.push_back(id);
    };
    const NodeId pooled = graph_.node(gather).inputs[0];  // a view would have another shape
    if (!argmax || argmax->window != window || graph_.node(index).inputs[0] != pooled ||
        flow_.phase[index] != flow_.phase[gather])
      return;
    absorb(index);
    const bool alone = std::ranges::all_of(flow_.readers[x], [&](NodeId r) { return r == index || r == gather; });
    if (is<op::Convolution>(graph_.node(x)) && x == pooled && alone && !flow_.in_memory[x] &&
        fits_convolution(window) && flow_.phase[x] == flow_.phase[gather] && pools_alike(x, window))
      absorb(x);
  }

  bool pools_alike(NodeId convolution, const Window& window) const {
    const Node& node = graph_.node(convolution);
    instruction::Convolution pooled{};
    pooled.shape = convolution_shape(std::get<op::Convolution>(node.op).window, graph_.node(node.inputs[0]).shape,
                                     graph_.node(node.inputs[1]).shape);
    pooled.pooling = pooling_of(window, node.shape);
    pooled.out.dtype = node.dtype;
    return device_.pools_alike(pooled);
  }

  /// Merges an elementwise node with the groups of its operands, unless another dependency forbids it.
  void fuse_with_operands(NodeId id) {
    const int own = group_of(id);
    for (NodeId source : flow_.dependencies[id]) {
      const int other = group_of(source);
      if (other < 0 || other == own || !(is_fusable(graph_, graph_.node(source)) || takes_epilogue(source))) continue;
      if (can_merge(other, own)) merge(other, own);
    }
  }

  /// Whether this node's kernel can have an epilogue: elementwise nodes that work on its result while the kernel
  /// computes it.
  bool takes_epilogue(NodeId id) const {
    const Node& node = graph_.node(id);
    const Group& of = group(group_of(id));
    if (flow_.attention.at(id)) return false;
    if (is<op::PoolGather>(node))
      return std::ranges::any_of(of.inner, [&](NodeId inner) { return is<op::Convolution>(graph_.node(inner)); });
    return is<op::MatMul>(node) || (is<op::Convolution>(node) && of.anchor == id) || is<op::ConvolutionInput>(node) ||
           is<op::ConvolutionFilter>(node);
  }

  /// Whether one instruction can compute both.
  bool can_merge(int first, int second) {
    const Group &a = group(first), &b = group(second);
    if (a.phase != b.phase || a.level != b.level || (a.anchor >= 0 && b.anchor >= 0)) return false;
    if (a.members.size() + b.members.size() > most_members) return false;
    if (a.row && b.row && (a.row != b.row || a.size != b.size)) return false;
    Group together;
    together.size = std::max(a.size, b.size);
    together.row = std::max(a.row, b.row);
    together.anchor = std::max(a.anchor, b.anchor);
    const Group& shorter = a.size < b.size ? a : b;
    if (a.size != b.size && (shorter.row || !together.row || shorter.size * together.row != together.size))
      return false;
    if (together.anchor >= 0 && !takes_as_epilogue(together)) return false;
    std::ranges::merge(a.members, b.members, std::back_inserter(together.members));
    if (!std::ranges::all_of(together.members, [&](NodeId id) { return reads_own_place(id, together); })) return false;
    if (operand_count(together) > most_operands) return false;
    if (has_too_many_numbers(flow_, together, {}, device_.most_live_numbers())) return false;
    if (anchor_reads(first, second) || anchor_reads(second, first)) return false;
    if (reads_inner(first, second) || reads_inner(second, first)) return false;
    return !links_.waits_for(first, second) && !links_.waits_for(second, first);
  }

  /// An epilogue follows the order of the product. It sees whole rows of a matrix product only.
  bool takes_as_epilogue(const Group& together) const {
    const Node& node = graph_.node(together.anchor);
    if (flow_.written_as[together.anchor] >= 0 || node.shape.size() != together.size) return false;
    return !together.row || (is<op::MatMul>(node) && node.shape[-1] % together.row == 0);
  }

  /// Whether a member reads the group's Values at its own index only: an element, or the number of its row.
  bool reads_own_place(NodeId member, const Group& together) const {
    const auto inside = [&](NodeId id) {
      return id == together.anchor || std::ranges::binary_search(together.members, id);
    };
    return std::ranges::all_of(graph_.node(member).inputs, [&](NodeId input) {
      const Node& window = graph_.node(flow_.base[input]);
      if (!is_window(window) || inside(flow_.base[input]) || !inside(flow_.base[window.inputs[0]])) return true;
      const Shape& from = graph_.node(window.inputs[0]).shape;
      if (!is<op::Broadcast>(window) || from.size() == window.shape.size()) return is<op::Broadcast>(window);
      if (window.shape.size() != together.size || from.size() * together.row != together.size) return false;
      const instruction::Access access = broadcast_access(from, window.shape);
      return from.size() == 1 || (access.extents == Shape{from.size(), together.row} && access.strides == Shape{1, 0});
    });
  }

  /// An upper bound of the operands of a group's program.
  std::size_t operand_count(const Group& together) const {
    const std::vector<NodeId>& members = together.members;
    const auto inside = [&](NodeId id) { return std::ranges::binary_search(members, id); };
    std::vector<NodeId> operands;
    for (NodeId member : members) {
      const bool is_read_outside = !std::ranges::all_of(flow_.readers[member], inside);
      if (flow_.in_memory[member] || is_read_outside) operands.push_back(member);
      for (NodeId input : graph_.node(member).inputs)
        if (!inside(flow_.base[input])) operands.push_back(input);
    }
    std::ranges::sort(operands);
    return operands.size() - std::ranges::unique(operands).size();
  }

  /// Whether a group's kernel reads a result of the other group. Nodes that follow a kernel cannot be its operands.
  bool anchor_reads(int index, int other) const {
    return std::ranges::any_of(kernel_operands(flow_, grouping_, index),
                               [&](NodeId source) { return group_of(source) == other; });
  }

  /// Whether a group's elementwise nodes read an inner result of the other group's kernel. A program cannot have it as
  /// an operand.
  bool reads_inner(int index, int other) const {
    const std::vector<NodeId>& inner = group(other).inner;
    return std::ranges::any_of(group(index).members, [&](NodeId member) {
      return std::ranges::any_of(flow_.dependencies[member],
                                 [&](NodeId source) { return std::ranges::find(inner, source) != inner.end(); });
    });
  }

  /// Moves the nodes of `from` to `into`.
  void merge(int from, int into) {
    Group &source = group(from), &target = group(into);
    for_each_node(source, [&](NodeId id) { grouping_.group_of[id] = into; });
    target.size = std::max(source.size, target.size);
    target.row = std::max(source.row, target.row);
    if (source.anchor >= 0) {
      target.anchor = source.anchor;
      target.inner = source.inner;
    }
    target.members.insert(target.members.end(), source.members.begin(), source.members.end());
    std::ranges::sort(target.members);
    target.last = std::max(target.last, source.last);
    source = Group{};
  }

  const Dataflow& flow_;
  const Graph& graph_;
  const Device& device_;
  Grouping grouping_;
  const Bundles no_bundles_ = {};
  GroupLinks links_{flow_, grouping_, no_bundles_};
};

}  // namespace

Grouping form_groups(const Dataflow& flow, const Device& device) { return GroupFormer(flow, device).form(); }

}  // namespace etude
