#include "etude/execution/emit_loop.hpp"

#include "etude/execution/loop_entries.hpp"

namespace etude {

using instruction::Copy;
using instruction::Scan;

namespace {

/// Emits a loop, and before it the copies of the initial carried Values.
class LoopWriter {
 public:
  LoopWriter(const Placement& placement, const PlacedLoop& placed, const std::vector<NodeId>& operands)
      : placement_(placement), placed_(placed), loop_(*placed.loop), operands_(operands) {}

  void write(std::vector<Instruction>& list) {
    scan_ = {loop_.steps,    loop_.reverse,      std::make_shared<instruction::Body>(), {}, placed_.rows,
             placed_.arenas, placed_.arena_bytes};
    scan_.body->instructions = placed_.body.instructions;
    scan_.spaces.push_back({placement_.block_operand(placed_.arena, DType::uint8)});
    for (std::size_t i = 0; i < loop_.next.size(); ++i) {
      list.push_back(copy_of_first(i));
      add_carry(i, loop_read_shift(loop_), 0);
    }
    for (std::size_t i = loop_.next.size(); i < operands_.size(); ++i) add_operand(i);
    for (std::size_t i = 0; i < loop_.next.size(); ++i) add_carry(i, loop_write_shift(loop_), 1);
    for (std::size_t i = 0; i < placed_.stacked.size(); ++i)
      add_space(row_of(placed_.outputs[i], placed_.stacked[i]), placed_.stacked[i], 0, false);
    scan_.body->addresses.resize(scan_.spaces.size() * static_cast<std::size_t>(placed_.arenas));
    list.push_back(std::move(scan_));
  }

 private:
  Operand row_of(int block, NodeId node) const { return placement_.block_operand(block, loop_.body.node(node).dtype); }

  void add_space(Operand operand, NodeId node, std::int64_t shift, bool turns) {
    scan_.spaces.push_back({operand, loop_entry_bytes(loop_, node), shift, turns});
  }

  /// A carried Value, as a step reads or writes it. If it has no entry for every step, steps alternate between two
  /// entries.
  void add_carry(std::size_t i, std::int64_t shift, std::int64_t turn) {
    const bool keeps = placed_.keeps[i];
    add_space(row_of(placed_.carries[i], loop_.next[i]), loop_.next[i], keeps ? shift : turn, !keeps);
  }

  /// A sequence, of which each step reads one entry, or a Value that all steps share.
  void add_operand(std::size_t i) {
    const bool sequence = i < loop_.next.size() + static_cast<std::size_t>(loop_.sequences);
    const auto bytes = static_cast<std::int64_t>(placement_.scheduled.bytes_of(operands_[i]));
    scan_.spaces.push_back({placement_.operand(operands_[i]), sequence ? bytes / loop_.steps : 0});
  }

  Copy copy_of_first(std::size_t i) const {
    const std::int64_t bytes = loop_entry_bytes(loop_, loop_.next[i]);
    Operand first = row_of(placed_.carries[i], loop_.next[i]);
    if (placed_.keeps[i] && loop_.reverse) first.offset += loop_.steps * bytes;
    return {bytes, placement_.operand(operands_[i]), first};
  }

  const Placement& placement_;
  const PlacedLoop& placed_;
  const Loop& loop_;
  const std::vector<NodeId>& operands_;
  Scan scan_{};
};

}  // namespace

void emit_loop(std::vector<Instruction>& list, const Placement& placement, int group) {
  const Scheduled& scheduled = placement.scheduled;
  LoopWriter(placement, placement.loops.at(group), scheduled.graph().node(scheduled.group(group).anchor).inputs)
      .write(list);
}

}  // namespace etude
