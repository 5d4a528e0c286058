#include "etude/execution/reuse_blocks.hpp"

#include <algorithm>

namespace etude {

namespace {

/// The block whose memory holds a node; -1 if there is none.
int block_of(const Placement& placement, NodeId node) {
  const auto place = placement.places.find(node);
  return place == placement.places.end() || place->second.block < 0 ? -1 : placement.root(place->second.block);
}

/// Lets `block` use the memory of `other`.
void take_over(Placement& placement, int block, int other) {
  placement.blocks[other].last = std::max(placement.blocks[other].last, placement.blocks[block].last);
  placement.blocks[block].same_as = other;
}

bool is_kernel_operand(const Placement& placement, int part, int block) {
  const Fused& fused = placement.scheduled.fused;
  return std::ranges::any_of(kernel_operands(fused.flow, fused.grouping, part),
                             [&](NodeId source) { return block_of(placement, source) == block; });
}

bool is_read_in_step(const Placement& placement, int part, int block) {
  const Scheduled& scheduled = placement.scheduled;
  return std::ranges::all_of(scheduled.programs[part]->inputs, [&](const VirtualProgram::Input& input) {
    return block_of(placement, input.source) != block || scheduled.reads_in_step(part, input);
  });
}

/// A program may write an output over an input that no later instruction reads.
void take_over_inputs(Placement& placement, int part, int position) {
  const auto& program = placement.scheduled.programs[part];
  if (!program) return;
  for (NodeId output : program->outputs) {
    const Place& place = placement.places.at(output);
    if (place.block < 0 || place.part || placement.blocks[place.block].same_as >= 0) continue;
    for (const VirtualProgram::Input& input : program->inputs) {
      const int other = block_of(placement, input.source);
      if (other < 0 || other == place.block || !is_read_in_step(placement, part, other)) continue;
      const Block& taken = placement.blocks[other];
      if (taken.last != position || taken.bytes != placement.scheduled.bytes_of(output) ||
          taken.bytes != placement.scheduled.bytes_of(input.source) || is_kernel_operand(placement, part, other))
        continue;
      take_over(placement, place.block, other);
      break;
    }
  }
}

/// Lets an all-reduce write its sum over its summand, unless the same or a later instruction also reads the summand, or
/// the sums are awaited at the end, when the summand may be a result.
void sum_in_place(Placement& placement, int part, int position) {
  const Scheduled& scheduled = placement.scheduled;
  if (!is_all_reduce(scheduled.fused, part)) return;
  const NodeId sum = scheduled.group(part).anchor;
  const NodeId summand = scheduled.base(scheduled.graph().node(sum).inputs[0]);
  const Place &own = placement.places.at(summand), &place = placement.places.at(sum);
  if (own.block < 0 || own.offset || own.part || place.block < 0) return;
  const auto reads_now_or_later = [&](NodeId reader) {
    const int group = scheduled.group_of(reader);
    return group >= 0 && scheduled.schedule.end_of(scheduled.schedule.position[group]) >= position;
  };
  if (std::ranges::count_if(scheduled.fused.flow.readers[summand], reads_now_or_later) > 1) return;
  const int end = scheduled.schedule.end_of(position);
  const Block& taken = placement.blocks[placement.root(own.block)];
  if (end == scheduled.schedule.end() || taken.last != end || taken.bytes != scheduled.bytes_of(sum)) return;
  take_over(placement, place.block, placement.root(own.block));
}

}  // namespace

void reuse_blocks(Placement& placement) {
  const Schedule& schedule = placement.scheduled.schedule;
  // The segments of an instruction run in order. A later segment may still read memory that an earlier one would
  // overwrite.
  for (int at = 0; at < schedule.end(); ++at)
    if (const int leader = schedule.order[static_cast<std::size_t>(at)]; schedule.bundles.followers[leader].empty())
      take_over_inputs(placement, leader, at);
  for (int at = 0; at < schedule.end(); ++at)
    schedule.for_each_part(at, [&](int part) { sum_in_place(placement, part, at); });
}

}  // namespace etude
