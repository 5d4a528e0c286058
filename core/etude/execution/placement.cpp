#include "etude/execution/placement.hpp"

#include <algorithm>

namespace etude {

using instruction::Access;

Placement::Placement(const Scheduled& of, const Replica& for_replica)
    : scheduled(of), replica(for_replica), input_count(static_cast<std::size_t>(of.graph().input_count())) {}

Operand Placement::operand(NodeId node) const {
  const Place& place = places.at(scheduled.base(node));
  const DType dtype = scheduled.graph().node(node).dtype;
  Operand operand = place.block < 0 ? place.operand : block_operand(place.block, dtype);
  operand.offset += place.offset * static_cast<std::int64_t>(size_of(dtype));
  return operand;
}

Operand Placement::kept_operand(NodeId node) const {
  const auto found = saved.find(node);
  return found == saved.end() ? operand(node) : block_operand(found->second, scheduled.graph().node(node).dtype);
}

Operand Placement::block_operand(int block, DType dtype) const { return {0, blocks[root(block)].offset, dtype}; }

Operand Placement::variable_operand(const Variable& variable) const {
  const auto found = std::ranges::find(storages, variable.storage(replica.index));
  return {static_cast<std::int32_t>(1 + input_count + static_cast<std::size_t>(found - storages.begin())),
          static_cast<std::int64_t>(variable.offset()), variable.dtype()};
}

Operand Placement::output_operand(std::size_t index) const {
  return {static_cast<std::int32_t>(1 + input_count + index), 0,
          scheduled.graph().node(scheduled.wanted.outputs[index]).dtype};
}

Access Placement::access_to(NodeId output) const {
  Access access = places.at(output).part.value_or(Access{});
  access.operand = operand(output);
  return access;
}

int Placement::root(int block) const {
  while (blocks[block].same_as >= 0) block = blocks[block].same_as;
  return block;
}

int Placement::new_block(std::size_t bytes, int position) {
  blocks.push_back({bytes, position, position});
  return static_cast<int>(blocks.size()) - 1;
}

void Placement::keep(NodeId node, int position) {
  const auto place = places.find(node);
  if (place == places.end() || place->second.block < 0) return;
  Block& block = blocks[place->second.block];
  block.last = std::max(block.last, position);
}

}  // namespace etude
