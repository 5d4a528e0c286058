#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "etude/execution/lowered.hpp"
#include "etude/execution/schedule.hpp"
#include "etude/graph/detail/loop.hpp"

namespace etude {

/// A range of the arena, from the instruction that writes it to the last instruction that reads it.
struct Block {
  std::size_t bytes = 0;
  int first = 0, last = 0;
  int same_as = -1;         ///< the block whose memory this one reuses
  std::int64_t offset = 0;  ///< in the arena
};

/// The place of a node's bytes: in a block, or at an operand (the batch, a variable).
struct Place {
  int block = -1;
  Operand operand = {};
  /// Its first element there, for a part of a Concatenate, which is stored in the block of the whole, or for an entry
  /// of a row.
  std::int64_t offset = 0;
  std::optional<instruction::Access> part = {};
};

/// A loop with its compiled body, and the blocks of its Values. The block of a carried Value has one entry more than
/// there are steps if every step's Value is read later, and two entries otherwise.
struct PlacedLoop {
  std::shared_ptr<const Loop> loop;
  Lowered body = {};
  std::vector<int> carries = {}, outputs = {};  ///< blocks
  std::vector<std::uint8_t> keeps = {};         ///< by carried Value: whether it has an entry for every step
  std::vector<NodeId> stacked = {};             ///< body nodes, by output
  std::int64_t rows = 0;                        ///< as in instruction::Scan
  int arenas = 1;
  std::int64_t arena_bytes = 0;
  int arena = -1;  ///< block
};

/// The places of all Values of a graph.
class Placement {
 public:
  explicit Placement(const Scheduled& scheduled, const Replica& replica);

  /// The place of a node; for a part of a Concatenate, its first element.
  Operand operand(NodeId node) const;
  /// The same for a node that is read after the step. A leaf that the step overwrites was saved before it.
  Operand kept_operand(NodeId node) const;
  Operand block_operand(int block, DType dtype) const;
  Operand variable_operand(const Variable& variable) const;
  /// The space that a loop's body writes its output `index` to.
  Operand output_operand(std::size_t index) const;
  /// The access by which a program writes a node.
  instruction::Access access_to(NodeId output) const;

  bool has_place(NodeId node) const { return places.contains(node); }
  /// The block whose memory a block uses.
  int root(int block) const;
  int new_block(std::size_t bytes, int position);
  /// Extends the lifetime of a node's block, if it has one, to `position`.
  void keep(NodeId node, int position);

  const Scheduled& scheduled;
  Replica replica;
  std::map<NodeId, Place> places = {};  ///< by base node
  IdVector<Block> blocks = {};
  std::map<int, int> workspaces = {};          ///< by group, a block
  std::vector<std::uint8_t> in_variable = {};  ///< by assignment: whether the instruction itself writes to the variable
  std::map<int, PlacedLoop> loops = {};        ///< by group
  std::map<NodeId, int> saved = {};            ///< by leaf: a block with its value from before the step
  std::vector<std::shared_ptr<Storage>> storages = {};
  std::size_t input_count, arena_bytes = 0;
};

}  // namespace etude
