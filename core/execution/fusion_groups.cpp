#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "etude/execution/access.hpp"
#include "etude/execution/fusion.hpp"
#include "etude/execution/node_kinds.hpp"
#include "etude/execution/window_shapes.hpp"

// Groups: what becomes one instruction, and the order of the instructions.

namespace etude {
namespace {

std::size_t at(NodeId id) { return static_cast<std::size_t>(id); }

/// What a program may read and write: a GPU's kernel has 4 KB for addresses and 255 registers, a processor's tiles of
/// operands share a cache of 1 MB.
constexpr std::size_t most_operands = 64;

}  // namespace

void Fusion::form_groups() {
  group_of_.assign(graph_.nodes().size(), -1);
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    const Node& node = graph_.node(id);
    if (phase_[at(id)] == Phase::never || base(id) != id || is_leaf(node) || inlined(id)) continue;
    if (is_passing(node) && !in_memory_[at(id)]) continue;
    if (is_implicit(node)) {
      new_group(id, false);
      continue;
    }
    if (join_loop(id)) continue;
    new_group(id, !is_fusable(graph_, node));
    if (is<op::PoolGather>(node)) form_pooling(id);
    if (is_fusable(graph_, node)) fuse_epilogue(id);
  }
  joined_to_.resize(groups_.size());
  followers_.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) joined_to_[i] = static_cast<int>(i);
}

/// All results of one loop come from one instruction. It waits for nothing that its first result does not wait for.
bool Fusion::join_loop(NodeId id) {
  const auto* scan = std::get_if<op::Scan>(&graph_.node(id).op);
  if (!scan) return false;
  const auto first = std::ranges::find_if(groups_, [&](const Group& group) {
    const auto* other = group.anchor < 0 ? nullptr : std::get_if<op::Scan>(&graph_.node(group.anchor).op);
    return other && other->loop == scan->loop && graph_.node(group.anchor).inputs == graph_.node(id).inputs;
  });
  if (first == groups_.end()) return false;
  first->inner.push_back(id);
  first->last = id;
  first->phase = std::min(first->phase, phase_[at(id)]);
  group_of_[at(id)] = static_cast<int>(first - groups_.begin());
  return true;
}

/// One pass finds what a window's largest cell holds and which it is; a convolution that nobody else reads is pooled as
/// it is computed.
void Fusion::form_pooling(NodeId gather) {
  const NodeId x = dependencies(gather)[0], index = dependencies(gather)[1];
  const auto* argmax = std::get_if<op::PoolArgMax>(&graph_.node(index).op);
  const Window& window = std::get<op::PoolGather>(graph_.node(gather).op).window;
  const auto absorb = [&](NodeId id) {
    Group& group = groups_[static_cast<std::size_t>(group_of(gather))];
    groups_[static_cast<std::size_t>(group_of(id))] = Group{};
    group_of_[at(id)] = group_of(gather);
    group.inner.push_back(id);
  };
  const NodeId pooled = graph_.node(gather).inputs[0];  // through a view the shape would be another
  if (!argmax || argmax->window != window || graph_.node(index).inputs[0] != pooled ||
      phase_[at(index)] != phase_[at(gather)])
    return;
  absorb(index);
  const bool alone = std::ranges::all_of(readers_[at(x)], [&](NodeId r) { return r == index || r == gather; });
  if (is<op::Convolution>(graph_.node(x)) && x == pooled && alone && !in_memory_[at(x)] && fits_convolution(window) &&
      phase_[at(x)] == phase_[at(gather)] && pools_alike(x, window))
    absorb(x);
}

bool Fusion::pools_alike(NodeId convolution, const Window& window) const {
  const Node& node = graph_.node(convolution);
  instruction::Convolution pooled{};
  pooled.shape = convolution_shape(std::get<op::Convolution>(node.op).window, graph_.node(node.inputs[0]).shape,
                                   graph_.node(node.inputs[1]).shape);
  pooled.pooling = pooling_of(window, node.shape);
  pooled.out.dtype = node.dtype;
  return device_.pools_alike(pooled);
}

/// Whether elementwise nodes can work on this one's result as its kernel computes it.
bool Fusion::takes_epilogue(NodeId id) const {
  const Node& node = graph_.node(id);
  if (is<op::PoolGather>(node))
    return std::ranges::any_of(group(group_of(id)).inner,
                               [&](NodeId inner) { return is<op::Convolution>(graph_.node(inner)); });
  return is<op::MatMul>(node) || (is<op::Convolution>(node) && group(group_of(id)).anchor == id) ||
         is<op::ConvolutionInput>(node) || is<op::ConvolutionFilter>(node);
}

/// Moves an elementwise node together with what computes its operands, where nothing stands in between.
void Fusion::fuse_epilogue(NodeId id) {
  const int own = group_of(id);
  for (NodeId source : dependencies(id)) {
    const int other = group_of(source);
    if (other < 0 || other == own || !(is_fusable(graph_, graph_.node(source)) || takes_epilogue(source))) continue;
    if (can_merge(other, own)) merge(other, own);
  }
}

int Fusion::new_group(NodeId id, bool anchor) {
  Group group;
  if (anchor)
    group.anchor = id;
  else
    group.members.push_back(id);
  group.row = row_of(graph_, graph_.node(id));
  group.size = graph_.node(group.row ? graph_.node(id).inputs[0] : id).shape.size();
  group.last = id;
  group.phase = phase_[at(id)];
  group.level = level_[at(id)];
  const int index = static_cast<int>(groups_.size());
  groups_.push_back(std::move(group));
  group_of_[at(id)] = index;
  return index;
}

/// Whether one instruction can compute both.
bool Fusion::can_merge(int first, int second) const {
  const Group &a = group(first), &b = group(second);
  if (a.phase != b.phase || a.level != b.level || (a.anchor >= 0 && b.anchor >= 0)) return false;
  if (a.row && b.row && (a.row != b.row || a.size != b.size)) return false;
  Group together;
  together.size = std::max(a.size, b.size);
  together.row = std::max(a.row, b.row);
  together.anchor = std::max(a.anchor, b.anchor);
  const Group& shorter = a.size < b.size ? a : b;
  if (a.size != b.size && (shorter.row || !together.row || shorter.size * together.row != together.size)) return false;
  if (const NodeId anchor = together.anchor; anchor >= 0) {
    // An epilogue follows the order of the product, and sees whole rows of a matrix product only.
    const Node& node = graph_.node(anchor);
    if (written_as(anchor) >= 0 || node.shape.size() != together.size) return false;
    if (together.row && !(is<op::MatMul>(node) && node.shape[-1] % together.row == 0)) return false;
  }
  std::ranges::merge(a.members, b.members, std::back_inserter(together.members));
  if (!std::ranges::all_of(together.members, [&](NodeId id) { return reads_own_place(id, together); })) return false;
  if (operand_count(together) > most_operands || has_too_many_numbers(together)) return false;
  if (anchor_reads(first, second) || anchor_reads(second, first)) return false;
  if (reads_inner(first, second) || reads_inner(second, first)) return false;
  return !waits_for(first, second) && !waits_for(second, first);
}

/// How many operands a group's program has, at most.
std::size_t Fusion::operand_count(const Group& together) const {
  const std::vector<NodeId>& members = together.members;
  const auto inside = [&](NodeId id) { return std::ranges::binary_search(members, id); };
  std::vector<NodeId> operands;
  for (NodeId member : members) {
    const bool is_read_outside = !std::ranges::all_of(readers_[at(member)], inside);
    if (in_memory_[at(member)] || is_read_outside) operands.push_back(member);
    for (NodeId input : graph_.node(member).inputs)
      if (!inside(base(input))) operands.push_back(input);
  }
  std::ranges::sort(operands);
  return operands.size() - std::ranges::unique(operands).size();
}

/// Whether a thread of the device would have more numbers of a group's program at the same time than it has room for.
/// What has few members and no rows is always little enough.
bool Fusion::has_too_many_numbers(const Group& together) const {
  constexpr std::size_t few_members = 24;
  const std::int64_t most = device_.most_live_numbers();
  if (most == std::numeric_limits<std::int64_t>::max()) return false;
  const std::vector<NodeId> members = program_members(together);
  if (!together.row && members.size() <= few_members) return false;

  // From which member to which a thread has a Value.
  struct Life {
    NodeId id;
    std::size_t first, last;
  };
  std::vector<Life> lives;
  const auto inside = [&](NodeId id) { return std::ranges::binary_search(members, id); };
  const auto read = [&](NodeId input) {
    if (inside(base(input))) return base(input);
    const Node& node = graph_.node(base(input));  // a row's number that is read as its elements stays one number
    return is<op::Broadcast>(node) && inside(base(node.inputs[0])) ? base(node.inputs[0]) : base(input);
  };
  for (std::size_t place = 0; place < members.size(); ++place) {
    const NodeId member = members[place];
    const bool is_own = std::ranges::binary_search(together.members, member);
    const bool is_stored = is_own && (in_memory_[at(member)] || !std::ranges::all_of(readers_[at(member)], inside));
    lives.push_back({member, place, is_stored ? members.size() : place});
    for (NodeId input : graph_.node(member).inputs) lives.push_back({read(input), place, place});
  }
  std::ranges::sort(lives, {}, [](const Life& life) { return std::pair(life.id, life.first); });
  std::vector<std::int64_t> change(members.size() + 2);
  for (std::size_t place = 0; place < members.size(); ++place)
    if (is<op::Softmax>(graph_.node(members[place]))) {  // exponentials, a maximum and a sum on the way
      const std::int64_t numbers = numbers_of(members[place], together) + 2;
      change[place] += numbers;
      change[place + 1] -= numbers;
    }
  for (std::size_t i = 0, next = 0; i < lives.size(); i = next) {
    std::size_t last = lives[i].last;
    for (next = i + 1; next < lives.size() && lives[next].id == lives[i].id; ++next)
      last = std::max(last, lives[next].last);
    const std::int64_t numbers = numbers_of(lives[i].id, together);
    change[lives[i].first] += numbers;
    change[last + 1] -= numbers;
  }
  std::int64_t now = 0;
  return std::ranges::any_of(change, [&](std::int64_t more) { return (now += more) > most; });
}

/// How many 32-bit numbers a thread has of a Value that a group's program works on.
std::int64_t Fusion::numbers_of(NodeId id, const Group& together) const {
  constexpr std::int64_t lanes = 32;  // of a GPU's warp, which share a row among them
  const Node& node = graph_.node(id);
  if (is<op::Constant>(node)) return 0;
  const Node& source = is<op::Broadcast>(node) ? graph_.node(node.inputs[0]) : node;
  const bool of_each = together.row > 0 && node.shape.size() == together.size && source.shape.size() > 1;
  return (node.dtype == DType::float64 ? 2 : 1) * (of_each ? (together.row + lanes - 1) / lanes : 1);
}

/// The nodes that a group's program computes, in order: its members, and what it computes again for them.
std::vector<NodeId> Fusion::program_members(const Group& group) const {
  std::vector<NodeId> members = group.members;
  if (recomputed_.empty()) return members;
  for (std::size_t i = 0; i < members.size(); ++i)
    for (NodeId input : graph_.node(members[i]).inputs)
      if (const NodeId source = base(input); recomputed(source) && std::ranges::find(members, source) == members.end())
        members.push_back(source);
  std::ranges::sort(members);
  return members;
}

/// Whether a member reads of its group what lies at its own place: an element, or the number of its row.
bool Fusion::reads_own_place(NodeId member, const Group& together) const {
  const auto inside = [&](NodeId id) {
    return id == together.anchor || std::ranges::binary_search(together.members, id);
  };
  return std::ranges::all_of(graph_.node(member).inputs, [&](NodeId input) {
    const Node& window = graph_.node(base(input));
    if (!is_window(window) || inside(base(input)) || !inside(base(window.inputs[0]))) return true;
    const Shape& from = graph_.node(window.inputs[0]).shape;
    if (!is<op::Broadcast>(window) || from.size() == window.shape.size()) return is<op::Broadcast>(window);
    if (window.shape.size() != together.size || from.size() * together.row != together.size) return false;
    const instruction::Access access = broadcast_access(from, window.shape);
    return from.size() == 1 || (access.extents == Shape{from.size(), together.row} && access.strides == Shape{1, 0});
  });
}

/// Moves what `from` computes into `into`.
void Fusion::merge(int from, int into) {
  Group &source = groups_[static_cast<std::size_t>(from)], &target = groups_[static_cast<std::size_t>(into)];
  target.size = std::max(source.size, target.size);
  target.row = std::max(source.row, target.row);
  for (NodeId member : source.members) group_of_[at(member)] = into;
  if (source.anchor >= 0) {
    group_of_[at(source.anchor)] = into;
    target.anchor = source.anchor;
    for (NodeId inner : source.inner) group_of_[at(inner)] = into;
    target.inner = source.inner;
  }
  target.members.insert(target.members.end(), source.members.begin(), source.members.end());
  std::ranges::sort(target.members);
  target.last = std::max(target.last, source.last);
  source = Group{};
}

std::vector<NodeId> Fusion::kernel_operands(int index) const {
  std::vector<NodeId> result;
  const auto add = [&](NodeId id) {
    for (NodeId source : dependencies(id))
      if (group_of(source) != index) result.push_back(source);
  };
  if (group(index).anchor >= 0) add(group(index).anchor);
  for (NodeId inner : group(index).inner) add(inner);
  return result;
}

/// Whether the kernel at the head of a group reads what the other computes: what follows a kernel cannot feed it.
bool Fusion::anchor_reads(int group, int other) const {
  return std::ranges::any_of(kernel_operands(group), [&](NodeId source) { return group_of(source) == other; });
}

/// Whether a group's elementwise nodes read what the other's kernel computes on the way: that is no operand of a
/// program.
bool Fusion::reads_inner(int group, int other) const {
  const std::vector<NodeId>& inner = this->group(other).inner;
  return std::ranges::any_of(this->group(group).members, [&](NodeId member) {
    return std::ranges::any_of(dependencies(member),
                               [&](NodeId source) { return std::ranges::find(inner, source) != inner.end(); });
  });
}

int Fusion::leader(int group) const { return joined_to_.empty() ? group : joined_to_[static_cast<std::size_t>(group)]; }

/// Calls visit with each node that a group computes, those joined to it included.
template <class Visitor> void Fusion::for_each_node(int index, Visitor&& visit) const {
  const auto visit_group = [&](const Group& group) {
    for (NodeId member : group.members) visit(member);
    if (group.anchor >= 0) visit(group.anchor);
    for (NodeId inner : group.inner) visit(inner);
  };
  visit_group(group(index));
  if (!followers_.empty())
    for (int follower : followers_[static_cast<std::size_t>(index)]) visit_group(group(follower));
}

template <class Visitor> void Fusion::for_each_input_group(int index, Visitor&& visit) const {
  for_each_node(index, [&](NodeId id) {
    for (NodeId source : dependencies(id))
      if (const int other = group_of(source); other >= 0 && leader(other) != index) visit(leader(other));
  });
}

template <class Visitor> void Fusion::for_each_reader_group(int index, Visitor&& visit) const {
  for_each_node(index, [&](NodeId id) {
    for (NodeId reader : readers_[at(id)])
      if (const int other = group_of(reader); other >= 0 && leader(other) != index) visit(leader(other));
  });
}

/// Whether something outside both lies between them: `group` needs what needs `other`. Looks from `other` on, for what
/// was computed lately has few readers yet.
bool Fusion::waits_for(int group, int other) const {
  seen_.resize(groups_.size());
  ++visit_;
  std::vector<int> open;
  const auto push = [&](int next) {
    int& seen = seen_[static_cast<std::size_t>(next)];
    if (seen != visit_) open.push_back(next);
    seen = visit_;
  };
  for_each_reader_group(other, [&](int reader) {
    if (reader != group) push(reader);
  });
  bool found = false;
  while (!open.empty() && !found) {
    const int next = open.back();
    open.pop_back();
    for_each_reader_group(next, [&](int reader) {
      found |= reader == group;
      push(reader);
    });
  }
  return found;
}

bool Fusion::join(int a, int b) {
  const auto direct = [&](int group, int other) {
    bool found = false;
    for_each_input_group(group, [&](int input) { found |= input == other; });
    return found;
  };
  if (group(a).phase != group(b).phase || group(a).level != group(b).level || direct(a, b) || direct(b, a) ||
      waits_for(a, b) || waits_for(b, a))
    return false;
  joined_to_[static_cast<std::size_t>(b)] = a;
  followers_[static_cast<std::size_t>(a)].push_back(b);
  Group &target = groups_[static_cast<std::size_t>(a)], &source = groups_[static_cast<std::size_t>(b)];
  target.last = std::max(target.last, source.last);
  return true;
}

std::vector<int> Fusion::schedule() const {
  struct Waiting {
    Phase phase;
    int level;
    bool joins;  ///< what replicas are joined by comes behind all that they compute before
    NodeId last;
    int group;
    bool operator>(const Waiting& other) const {
      return std::tie(phase, level, joins, last) > std::tie(other.phase, other.level, other.joins, other.last);
    }
  };
  const auto waiting = [this](int index) {
    const Group& of = group(index);
    const bool joins = of.anchor >= 0 && is_join(graph_, graph_.node(of.anchor));
    return Waiting{of.phase, of.level, joins, of.last, index};
  };
  std::vector<int> inputs(groups_.size());
  std::vector<std::vector<int>> readers(groups_.size());
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> ready;
  const auto exists = [&](int index) {
    return (!group(index).members.empty() || group(index).anchor >= 0) && leader(index) == index;
  };
  for (int index = 0; index < static_cast<int>(groups_.size()); ++index) {
    if (!exists(index)) continue;
    std::vector<int> sources;
    for_each_input_group(index, [&](int input) { sources.push_back(input); });
    std::ranges::sort(sources);
    sources.erase(std::ranges::unique(sources).begin(), sources.end());
    inputs[static_cast<std::size_t>(index)] = static_cast<int>(sources.size());
    for (int source : sources) readers[static_cast<std::size_t>(source)].push_back(index);
    if (sources.empty()) ready.push(waiting(index));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int index = ready.top().group;
    ready.pop();
    order.push_back(index);
    for (int reader : readers[static_cast<std::size_t>(index)])
      if (--inputs[static_cast<std::size_t>(reader)] == 0) ready.push(waiting(reader));
  }
  return order;
}

}  // namespace etude
