#pragma once

#include <map>
#include <optional>
#include <vector>

#include "etude/execution/fusion.hpp"
#include "etude/execution/plan.hpp"
#include "etude/execution/program_builder.hpp"
#include "etude/graph/loop.hpp"

namespace etude {

/// From a graph to a plan: groups become instructions, nodes become bytes. Used once, by Plan's constructor, and once
/// for every loop's body.
class Lowering {
 public:
  Lowering(const Graph& graph, const Wanted& wanted, const Device& device, const Replica& replica);
  Lowered lower();

 private:
  /// A stretch of the arena from the instruction that fills it to the last that reads it.
  struct Block {
    std::size_t bytes = 0;
    int first = 0, last = 0;
    int same_as = -1;  ///< the block whose memory this one takes over
  };
  /// Where a node's bytes are: in a block, or at an operand (the batch, a variable).
  struct Place {
    int block = -1;
    Operand operand;
    /// Of a part of a Concatenate, which lies in the whole one's block: its first element there, and the others.
    std::int64_t offset = 0;
    std::optional<instruction::Access> part = {};
  };

  /// A loop on its way: what its body became, and the blocks of its Values. A carried Value's block has one entry more
  /// than there are steps where somebody reads it of every step, and two otherwise.
  struct Scanning {
    std::shared_ptr<const Loop> loop;
    Lowered body = {};
    std::vector<int> carries = {}, outputs = {};  // blocks
    std::vector<bool> keeps = {};                 // by carried Value: an entry for every step
    std::vector<NodeId> stacked = {};             // body nodes, by output
    std::int64_t rows = 0;                        // as in instruction::Scan
    int arenas = 1;
    std::int64_t arena_bytes = 0;
    int arena = -1;  // block
  };

  void join_equal_updates();
  void join_replicas();
  void place_leaves();
  void place_outputs();
  void place_results_in_variables();
  bool may_overwrite(const std::vector<NodeId>& old_values, int group) const;
  void place_concatenations();
  void place_parts(NodeId whole);
  bool may_lie_in(NodeId part) const;
  void place_in_blocks();
  void place_scan(int group, int position);
  void place_scan_result(const Scanning& scanning, NodeId id);
  void emit_scan(std::vector<Instruction>& list, int group) const;
  void place_copies();
  bool is_assigned(const Variable& variable) const;
  void save(NodeId leaf);
  void take_over_inputs();
  void sum_in_place();
  bool is_join(int group) const;
  /// Whether what a group computes has no elements.
  bool is_empty(int group) const { return fusion_.group(group).size == 0; }
  void lay_out_blocks();
  void emit_all();
  Instruction emit(int group);
  Instruction emit_anchor(const Node& node, int group);
  instruction::AllReduce emit_join(int group) const;
  /// Convolutions and pooling: core/execution/lowering_windows.cpp.
  std::optional<Instruction> emit_windowed(const Node& node, int group) const;
  instruction::Elementwise emit_program(int group);
  instruction::Elementwise emit_concatenate(const Node& node, const Operand& out);
  instruction::Access access_to(NodeId output) const;
  void append(std::vector<Instruction>& list, int group);
  void find_direct_steps(instruction::Elementwise& instruction) const;
  void emit_copies();

  static std::size_t index_of(int number) { return static_cast<std::size_t>(number); }
  /// The groups that are computed by one instruction, as its segments.
  template <class Visitor> void for_each_part(int group, Visitor&& visit) const {
    visit(group);
    for (int follower : fusion_.followers(group)) visit(follower);
  }
  int new_block(std::size_t bytes, int position);
  int root(int block) const;
  void touch(NodeId node, int position);
  Operand output_operand(std::size_t index) const;
  Operand operand(NodeId node) const;
  Operand kept_operand(NodeId node) const;
  Operand block_operand(int block, DType dtype) const;
  Operand variable_operand(const Variable& variable);
  std::size_t bytes_of(NodeId node) const;

  Lowered lowered_;
  const Graph& graph_;
  const Device& device_;
  Replica replica_;
  Wanted wanted_;                     // base nodes
  std::vector<Shape> result_shapes_;  // of the results themselves: a base may be shaped otherwise
  Fusion fusion_;
  std::vector<std::optional<VirtualProgram>> programs_;  // by group
  std::vector<int> order_;                               // groups that lead, by position
  std::vector<int> position_;                            // by group
  int end_ = 0;                                          // the position behind the last instruction
  std::map<NodeId, Place> places_;                       // by base node
  std::vector<Block> blocks_;
  std::vector<std::size_t> offsets_;
  std::map<int, int> workspaces_;  // by group, a block
  std::vector<bool> in_variable_;  // by assignment: the instruction itself writes to the variable
  std::map<int, Scanning> scans_;  // by group
  std::map<NodeId, int> saved_;    // by leaf: a block that keeps what it was when the step began
};

}  // namespace etude
