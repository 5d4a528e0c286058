#include <algorithm>
#include <limits>
#include <new>

#include "etude/base/checked.hpp"
#include "etude/execution/independent_rows.hpp"
#include "etude/execution/lowering.hpp"

// Loops: the body is lowered by itself, to instructions on spaces whose addresses change from step to step. A carried
// Value lies in a row of entries: a step reads one and writes the next, so nothing is copied from step to step, and
// what it was at every step is that row.

namespace etude {

using instruction::Copy;
using instruction::Scan;

namespace {

const op::Scan& scan_of(const Graph& graph, NodeId id) { return std::get<op::Scan>(graph.node(id).op); }

std::int64_t entry_bytes(const Loop& loop, NodeId node) {
  const Node& of = loop.body.node(node);
  return checked::multiply(of.shape.size(), static_cast<std::int64_t>(size_of(of.dtype)), "scan");
}

/// Bytes of so many entries in a row.
std::int64_t row_bytes(const Loop& loop, NodeId node, std::int64_t entries) {
  return checked::multiply(entry_bytes(loop, node), entries, "scan");
}

/// The entry of a carried Value's row that a step reads, and the one that it writes, beyond the step's own number.
std::int64_t read_shift(const Loop& loop) { return loop.reverse ? 1 : 0; }
std::int64_t write_shift(const Loop& loop) { return loop.reverse ? 0 : 1; }

}  // namespace

void Lowering::place_scan(int group, int position) {
  const Group& of = fusion_.group(group);
  std::vector<NodeId> results = of.inner;
  results.push_back(of.anchor);
  Scanning scanning{scan_of(graph_, of.anchor).loop};
  const Loop& loop = *scanning.loop;
  scanning.keeps.assign(loop.next.size(), false);
  for (NodeId id : results) {
    const auto& [_, node, last] = scan_of(graph_, id);
    if (last) continue;
    const int carry = loop.carry_before(node) >= 0 ? loop.carry_before(node) : loop.carry_after(node);
    if (carry >= 0)
      scanning.keeps[index_of(carry)] = true;
    else
      scanning.stacked.push_back(node);
  }
  Wanted wanted{{}, {}, loop.next};
  wanted.outputs.insert(wanted.outputs.end(), scanning.stacked.begin(), scanning.stacked.end());
  scanning.body = Lowering(loop.body, wanted, device_, replica_).lower();

  const auto block = [&](std::int64_t bytes) {
    if (bytes > std::numeric_limits<std::ptrdiff_t>::max()) throw std::bad_alloc();
    return new_block(static_cast<std::size_t>(bytes), position);
  };
  for (std::size_t i = 0; i < loop.next.size(); ++i)
    scanning.carries.push_back(block(row_bytes(loop, loop.next[i], scanning.keeps[i] ? loop.steps + 1 : 2)));
  for (NodeId node : scanning.stacked) scanning.outputs.push_back(block(row_bytes(loop, node, loop.steps)));
  scanning.rows = independent_rows(loop, scanning.stacked, scanning.body.instructions);
  scanning.arenas = scanning.rows > 0 ? device_.loop_arenas() : 1;
  scanning.arena_bytes = (static_cast<std::int64_t>(scanning.body.arena_bytes) + 63) / 64 * 64;
  scanning.arena = block(checked::multiply(scanning.arenas, scanning.arena_bytes, "scan"));
  for (NodeId id : results) place_scan_result(scanning, id);
  scans_.emplace(group, std::move(scanning));
}

/// A result lies in the row of its Values.
void Lowering::place_scan_result(const Scanning& scanning, NodeId id) {
  const Loop& loop = *scanning.loop;
  const auto& [_, node, last] = scan_of(graph_, id);
  const std::int64_t entry = loop.body.node(node).shape.size();
  const int before = loop.carry_before(node), after = loop.carry_after(node);
  if (last) {
    const std::int64_t end = !scanning.keeps[index_of(after)] ? loop.steps % 2 : loop.reverse ? 0 : loop.steps;
    places_[id] = {scanning.carries[index_of(after)], {}, end * entry};
  } else if (before >= 0) {
    places_[id] = {scanning.carries[index_of(before)], {}, read_shift(loop) * entry};
  } else if (after >= 0) {
    places_[id] = {scanning.carries[index_of(after)], {}, write_shift(loop) * entry};
  } else {
    const auto output = std::ranges::find(scanning.stacked, node) - scanning.stacked.begin();
    places_[id] = {scanning.outputs[static_cast<std::size_t>(output)], {}};
  }
}

void Lowering::emit_scan(std::vector<Instruction>& list, int group) const {
  const Scanning& scanning = scans_.at(group);
  const Loop& loop = *scanning.loop;
  const std::vector<NodeId>& operands = graph_.node(fusion_.group(group).anchor).inputs;
  Scan scan{loop.steps,      loop.reverse,        std::make_shared<instruction::Body>(), {}, scanning.rows,
            scanning.arenas, scanning.arena_bytes};
  scan.body->instructions = scanning.body.instructions;

  scan.spaces.push_back({block_operand(scanning.arena, DType::uint8)});
  const auto add = [&](Operand operand, NodeId node, std::int64_t shift, bool turns) {
    scan.spaces.push_back({operand, entry_bytes(loop, node), shift, turns});
  };
  const auto carry = [&](std::size_t i, std::int64_t shift, std::int64_t turn) {
    const Operand row = block_operand(scanning.carries[i], loop.body.node(loop.next[i]).dtype);
    add(row, loop.next[i], scanning.keeps[i] ? shift : turn, !scanning.keeps[i]);
  };
  for (std::size_t i = 0; i < loop.next.size(); ++i) {
    const std::int64_t bytes = entry_bytes(loop, loop.next[i]);
    Operand first = block_operand(scanning.carries[i], loop.body.node(loop.next[i]).dtype);
    if (scanning.keeps[i] && loop.reverse) first.offset += loop.steps * bytes;
    list.push_back(Copy{bytes, operand(operands[i]), first});
    carry(i, read_shift(loop), 0);
  }
  for (std::size_t i = loop.next.size(); i < operands.size(); ++i) {
    const bool sequence = i < loop.next.size() + static_cast<std::size_t>(loop.sequences);
    const std::int64_t bytes = static_cast<std::int64_t>(bytes_of(operands[i]));
    scan.spaces.push_back({operand(operands[i]), sequence ? bytes / loop.steps : 0});
  }
  for (std::size_t i = 0; i < loop.next.size(); ++i) carry(i, write_shift(loop), 1);
  for (std::size_t i = 0; i < scanning.stacked.size(); ++i)
    add(block_operand(scanning.outputs[i], loop.body.node(scanning.stacked[i]).dtype), scanning.stacked[i], 0, false);
  scan.body->addresses.resize(scan.spaces.size() * static_cast<std::size_t>(scanning.arenas));
  list.push_back(std::move(scan));
}

}  // namespace etude
