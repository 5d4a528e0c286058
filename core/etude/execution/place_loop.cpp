#include "etude/execution/place_loop.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "etude/base/detail/checked.hpp"
#include "etude/execution/independent_rows.hpp"
#include "etude/execution/loop_entries.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

const op::Scan& scan_of(const Graph& graph, NodeId id) { return std::get<op::Scan>(graph.node(id).op); }

/// The bytes of a row with this number of entries.
std::int64_t row_bytes(const Loop& loop, NodeId node, std::int64_t entries) {
  return checked::multiply(loop_entry_bytes(loop, node), entries, "scan");
}

/// Records the Values from which the results of a loop are stacked.
void find_stacked(PlacedLoop& placed, const Graph& graph, const std::vector<NodeId>& results) {
  const Loop& loop = *placed.loop;
  placed.keeps.assign(loop.next.size(), false);
  for (NodeId id : results) {
    const auto& [_, node, last] = scan_of(graph, id);
    if (last) continue;
    const int carry = loop.carry_before(node) >= 0 ? loop.carry_before(node) : loop.carry_after(node);
    if (carry >= 0)
      placed.keeps[static_cast<std::size_t>(carry)] = true;
    else
      placed.stacked.push_back(node);
  }
}

/// A result is stored in the row of its Values.
Place place_of_result(const PlacedLoop& placed, const op::Scan& scan) {
  const Loop& loop = *placed.loop;
  const auto index = [](int carry) { return static_cast<std::size_t>(carry); };
  const std::int64_t entry = loop.body.node(scan.node).shape.size();
  const int before = loop.carry_before(scan.node), after = loop.carry_after(scan.node);
  if (scan.last) {
    const std::int64_t end = !placed.keeps[index(after)] ? loop.steps % 2 : loop.reverse ? 0 : loop.steps;
    return {placed.carries[index(after)], {}, end * entry};
  }
  if (before >= 0) return {placed.carries[index(before)], {}, loop_read_shift(loop) * entry};
  if (after >= 0) return {placed.carries[index(after)], {}, loop_write_shift(loop) * entry};
  const auto output = std::ranges::find(placed.stacked, scan.node) - placed.stacked.begin();
  return {placed.outputs[static_cast<std::size_t>(output)]};
}

}  // namespace

void place_loop(Placement& placement, const Device& device, int group, int position, const CompileBody& compile_body) {
  const Scheduled& scheduled = placement.scheduled;
  const Group& of = scheduled.group(group);
  std::vector<NodeId> results = of.inner;
  results.push_back(of.anchor);
  PlacedLoop placed{scan_of(scheduled.graph(), of.anchor).loop};
  const Loop& loop = *placed.loop;
  find_stacked(placed, scheduled.graph(), results);
  Wanted wanted{{}, {}, loop.next};
  wanted.outputs.insert(wanted.outputs.end(), placed.stacked.begin(), placed.stacked.end());
  placed.body = compile_body(loop.body, wanted);

  const auto block = [&](std::int64_t bytes) {
    if (bytes > std::numeric_limits<std::ptrdiff_t>::max()) throw std::bad_alloc();
    return placement.new_block(static_cast<std::size_t>(bytes), position);
  };
  for (std::size_t i = 0; i < loop.next.size(); ++i)
    placed.carries.push_back(block(row_bytes(loop, loop.next[i], placed.keeps[i] ? loop.steps + 1 : 2)));
  for (NodeId node : placed.stacked) placed.outputs.push_back(block(row_bytes(loop, node, loop.steps)));
  placed.rows = independent_rows(loop, placed.stacked, placed.body.instructions);
  placed.arenas = placed.rows > 0 ? device.loop_arenas() : 1;
  placed.arena_bytes = (static_cast<std::int64_t>(placed.body.arena_bytes) + 63) / 64 * 64;
  placed.arena = block(checked::multiply(placed.arenas, placed.arena_bytes, "scan"));
  for (NodeId id : results) placement.places[id] = place_of_result(placed, scan_of(scheduled.graph(), id));
  placement.loops.emplace(group, std::move(placed));
}

}  // namespace etude
