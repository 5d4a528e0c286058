#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// When a node is computed: in every step, or only when somebody looks at the logs.
enum class Phase : std::uint8_t { never, step, logs };

/// Nodes that become one instruction: elementwise nodes of one size, and the matrix product or convolution, if any,
/// whose result they work on while it is in cache. Any other op is a group of its own, with itself as anchor. If `row`
/// is set, its members work on rows of that many elements, and some have a size of one number a row: what sums up a
/// row, and what is made of such numbers.
struct Group {
  std::vector<NodeId> members;
  NodeId anchor = -1;
  /// What else the anchor's kernel computes: of a PoolGather the PoolArgMax and the Convolution before it, of a loop
  /// its other results.
  std::vector<NodeId> inner;
  std::int64_t size = 0, row = 0;
  NodeId last = 0;  ///< the highest node in it
  /// How often replicas have been joined before it can be computed: all plans of a step are cut at the same places.
  int level = 0;
  Phase phase = Phase::step;
};

/// What a graph is compiled for: the nodes whose values can be read after a step, those that are computed when somebody
/// looks, and those that a loop's body leaves in the spaces behind its inputs, one each.
struct Wanted {
  std::vector<NodeId> results = {}, logs = {}, outputs = {};
};

/// Which nodes are computed together, and in which order.
class Fusion {
 public:
  /// Results, outputs and what the graph assigns are computed in the step; what only logs need, and the step does not
  /// overwrite, is left to the logs.
  Fusion(const Graph& graph, const Wanted& wanted, const Device& device);

  const Graph& graph() const { return graph_; }
  /// The node whose bytes a node shows: a Reshape is what it reshapes.
  NodeId base(NodeId id) const { return base_[static_cast<std::size_t>(id)]; }
  /// The Transpose in whose order a matrix product writes its result, or -1: the product is then the Transpose's base.
  NodeId written_as(NodeId product) const { return written_as_[static_cast<std::size_t>(product)]; }
  /// The base nodes that must be in memory, or in the same group, before this one can be computed.
  const std::vector<NodeId>& dependencies(NodeId id) const { return dependencies_[static_cast<std::size_t>(id)]; }
  /// The nodes that wait for this one, once for every operand that it is.
  const std::vector<NodeId>& readers(NodeId id) const { return readers_[static_cast<std::size_t>(id)]; }
  /// The group that computes a node, or -1 for inputs, variables and what nobody needs in memory.
  int group_of(NodeId id) const { return group_of_[static_cast<std::size_t>(id)]; }
  const Group& group(int index) const { return groups_[static_cast<std::size_t>(index)]; }
  std::size_t group_count() const { return groups_.size(); }
  /// Whether a node's value is wanted outside its group: by another one, as a result, a log, or an assignment.
  bool escapes(NodeId id) const { return escapes_[static_cast<std::size_t>(id)]; }
  /// Whether a node is computed by the kernel of whoever reads it: a PoolScatter that only gradients of convolutions
  /// read.
  bool inlined(NodeId id) const { return inlined_[static_cast<std::size_t>(id)]; }
  /// What the kernel at the head of a group reads from memory.
  std::vector<NodeId> kernel_operands(int group) const;

  /// Whether programs of other groups compute a node again instead of reading it.
  bool recomputed(NodeId id) const { return recomputed_[static_cast<std::size_t>(id)]; }

  /// Lets `b` be computed together with `a`, as two segments of one instruction, if neither waits for the other.
  bool join(int a, int b);
  /// The groups that were joined to this one.
  const std::vector<int>& followers(int group) const { return followers_[static_cast<std::size_t>(group)]; }
  /// The groups in an order in which each finds its operands; a group waits as long as its last node does.
  std::vector<int> schedule() const;

 private:
  void find_bases();
  void find_levels();
  void find_phases(const Wanted& wanted);
  void find_transposed_products();
  void find_inlined();
  void find_dependencies();
  void find_dependency(NodeId id, std::size_t index);
  void form_groups();
  bool join_loop(NodeId id);
  void form_pooling(NodeId gather);
  bool pools_alike(NodeId convolution, const Window& window) const;
  void fuse_epilogue(NodeId id);
  void find_escapes(const Wanted& wanted);
  void find_recomputed();
  bool read_by_programs_only(NodeId id) const;
  bool is_near(NodeId id, std::vector<NodeId>& large) const;
  std::vector<NodeId> stored_operands(NodeId id) const;
  void read_operands_instead(NodeId id);
  void drop_unread();
  int new_group(NodeId id, bool anchor);
  bool can_merge(int a, int b) const;
  bool reads_own_place(NodeId member, const Group& together) const;
  std::size_t operand_count(const Group& together) const;
  bool has_too_many_numbers(const Group& together) const;
  std::int64_t numbers_of(NodeId id, const Group& together) const;
  std::vector<NodeId> program_members(const Group& group) const;
  bool recomputing_fits(NodeId id) const;
  void merge(int from, int into);
  bool anchor_reads(int group, int other) const;
  bool reads_inner(int group, int other) const;
  bool takes_epilogue(NodeId id) const;
  bool waits_for(int group, int other) const;
  /// The group that a joined group was joined to, or itself.
  int leader(int group) const;
  template <class Visitor> void for_each_node(int group, Visitor&& visit) const;
  template <class Visitor> void for_each_input_group(int group, Visitor&& visit) const;
  template <class Visitor> void for_each_reader_group(int group, Visitor&& visit) const;

  const Graph& graph_;
  const Device& device_;
  std::vector<NodeId> base_, written_as_;
  std::vector<int> level_;
  std::vector<Phase> phase_;
  std::vector<bool> in_memory_, escapes_, inlined_, recomputed_;
  std::vector<std::vector<NodeId>> dependencies_, readers_;
  std::vector<int> group_of_;
  std::vector<Group> groups_;
  std::vector<int> joined_to_;
  std::vector<std::vector<int>> followers_;
  mutable std::vector<int> seen_;
  mutable int visit_ = 0;
};

}  // namespace etude
