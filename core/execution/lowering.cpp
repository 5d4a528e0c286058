#include "etude/execution/lowering.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <unordered_map>

#include "etude/execution/access.hpp"
#include "etude/execution/memory.hpp"

// Where everything lies: which memory an instruction writes to, from when to when it is needed, and at which offset.

namespace etude {

using instruction::Access;

namespace {

std::vector<NodeId> bases(const Fusion& fusion, std::vector<NodeId> nodes) {
  for (NodeId& node : nodes) node = fusion.base(node);
  return nodes;
}

}  // namespace

Lowering::Lowering(const Graph& graph, const Wanted& wanted, const Device& device, const Replica& replica)
    : graph_(graph), device_(device), replica_(replica), fusion_(graph, wanted, device) {
  for (NodeId result : wanted.results) result_shapes_.push_back(graph.node(result).shape);
  wanted_ = {bases(fusion_, wanted.results), bases(fusion_, wanted.logs), bases(fusion_, wanted.outputs)};
}

Lowered Lowering::lower() {
  for (int group = 0; group < static_cast<int>(fusion_.group_count()); ++group)
    programs_.push_back(fusion_.group(group).members.empty()
                            ? std::nullopt
                            : std::optional(build_program(fusion_, fusion_.group(group))));
  join_equal_updates();
  join_replicas();
  order_ = fusion_.schedule();
  end_ = static_cast<int>(order_.size());
  position_.assign(fusion_.group_count(), -1);
  for (int i = 0; i < end_; ++i) for_each_part(order_[index_of(i)], [&](int part) { position_[index_of(part)] = i; });

  place_leaves();
  place_outputs();
  place_results_in_variables();
  place_concatenations();
  place_in_blocks();
  place_copies();
  take_over_inputs();
  sum_in_place();
  lay_out_blocks();
  emit_all();
  return std::move(lowered_);
}

/// The updates of many variables by one optimizer are one instruction over many segments.
void Lowering::join_equal_updates() {
  std::vector<int> leaders;
  const auto updates = [&](int group) {
    return std::ranges::any_of(graph_.assignments(), [&](const Graph::Assignment& assignment) {
      return fusion_.group_of(fusion_.base(assignment.current)) == group;
    });
  };
  for (int group = 0; group < static_cast<int>(fusion_.group_count()); ++group) {
    if (!programs_[index_of(group)] || fusion_.group(group).anchor >= 0 || !updates(group)) continue;
    const auto leader = std::ranges::find_if(leaders, [&](int other) {
      return programs_[index_of(other)]->program == programs_[index_of(group)]->program && fusion_.join(other, group);
    });
    if (leader == leaders.end()) leaders.push_back(group);
  }
}

void Lowering::place_leaves() {
  lowered_.input_count = static_cast<std::size_t>(graph_.input_count());
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    const Node& node = graph_.node(id);
    if (const auto* input = std::get_if<op::Input>(&node.op)) places_[id] = {-1, {1 + input->index, 0, node.dtype}};
    if (const auto* read = std::get_if<op::Read>(&node.op)) places_[id] = {-1, variable_operand(read->variable)};
  }
}

Operand Lowering::variable_operand(const Variable& variable) {
  const std::shared_ptr<Storage>& storage = variable.storage(replica_.index);
  const auto found = std::ranges::find(lowered_.storages, storage);
  const auto index = static_cast<std::size_t>(found - lowered_.storages.begin());
  if (found == lowered_.storages.end()) lowered_.storages.push_back(storage);
  return {static_cast<std::int32_t>(1 + lowered_.input_count + index), static_cast<std::int64_t>(variable.offset()),
          variable.dtype()};
}

/// A loop's body leaves what it is wanted for in the spaces behind its inputs.
void Lowering::place_outputs() {
  for (std::size_t i = 0; i < wanted_.outputs.size(); ++i) {
    const NodeId node = wanted_.outputs[i];
    if (!places_.contains(node)) places_[node] = {-1, output_operand(i)};
  }
}

/// A program writes a variable's new value where the old one lies, when nobody reads the old one later.
void Lowering::place_results_in_variables() {
  in_variable_.assign(graph_.assignments().size(), false);
  std::unordered_map<const void*, std::vector<NodeId>> old_values;
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id)
    if (const auto* read = std::get_if<op::Read>(&graph_.node(id).op)) old_values[read->variable.id()].push_back(id);
  for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
    const auto& [variable, current] = graph_.assignments()[i];
    const NodeId node = fusion_.base(current);
    const int group = fusion_.group_of(node);
    if (group < 0 || !programs_[index_of(group)] || places_.contains(node) || node == fusion_.group(group).anchor)
      continue;
    if (!may_overwrite(old_values[variable.id()], group)) continue;
    places_[node] = {-1, variable_operand(variable)};
    in_variable_[i] = true;
  }
}

/// Whether a group may write a variable whose old value these nodes read.
bool Lowering::may_overwrite(const std::vector<NodeId>& old_values, int group) const {
  const auto is_old_value = [&](NodeId id) { return std::ranges::find(old_values, id) != old_values.end(); };
  // No other group may read it at the same time or later ...
  for (NodeId old_value : old_values)
    for (NodeId id : fusion_.readers(old_value)) {
      const int reader = fusion_.group_of(id);
      if (reader >= 0 && reader != group && position_[index_of(reader)] >= position_[index_of(group)]) return false;
    }
  // ... and this one element by element, as it writes it, or before it writes at all, where it makes numbers of one
  // whole row; a kernel at its head reads ahead.
  if (std::ranges::any_of(fusion_.kernel_operands(group), is_old_value)) return false;
  const VirtualProgram& virtual_program = *programs_[index_of(group)];
  const instruction::Program& program = virtual_program.program;
  const bool reads_first =
      fusion_.group(group).size == std::max<std::int64_t>(program.row, 1) &&
      (program.row == 0 || std::ranges::all_of(program.outputs, &instruction::Program::Output::per_row));
  return reads_first || std::ranges::none_of(virtual_program.inputs, [&](const VirtualProgram::Input& input) {
           return is_old_value(input.source) && input.access.kind != Access::Kind::contiguous;
         });
}

int Lowering::new_block(std::size_t bytes, int position) {
  blocks_.push_back({bytes, position, position, -1});
  return static_cast<int>(blocks_.size()) - 1;
}

int Lowering::root(int block) const {
  while (blocks_[index_of(block)].same_as >= 0) block = blocks_[index_of(block)].same_as;
  return block;
}

std::size_t Lowering::bytes_of(NodeId node) const {
  const auto elements = static_cast<std::uint64_t>(graph_.node(node).shape.size());
  const std::size_t size = size_of(graph_.node(node).dtype);
  if (elements > std::numeric_limits<std::ptrdiff_t>::max() / size) throw std::bad_alloc();
  return static_cast<std::size_t>(elements) * size;
}

/// Keeps a node's block, if it lies in one, until `position`.
void Lowering::touch(NodeId node, int position) {
  const auto place = places_.find(node);
  if (place == places_.end() || place->second.block < 0) return;
  Block& block = blocks_[index_of(place->second.block)];
  block.last = std::max(block.last, position);
}

/// What a program computes for a Concatenate alone is written where it belongs there.
void Lowering::place_concatenations() {
  for (int group : order_)
    for_each_part(group, [&](int part) {
      const NodeId anchor = fusion_.group(part).anchor;
      if (anchor >= 0 && std::holds_alternative<op::Concatenate>(graph_.node(anchor).op)) place_parts(anchor);
    });
}

void Lowering::place_parts(NodeId whole) {
  const Node& node = graph_.node(whole);
  const auto axis = static_cast<std::ptrdiff_t>(std::get<op::Concatenate>(node.op).axis);
  if (!places_.contains(whole))
    places_[whole] = {new_block(bytes_of(whole), position_[index_of(fusion_.group_of(whole))]), {}};
  const auto [block, operand, begin, part_of] = places_.at(whole);
  std::int64_t offset = 0;
  for (NodeId input : node.inputs) {
    const NodeId part = fusion_.base(input);
    const Shape& shape = graph_.node(input).shape;
    if (may_lie_in(part)) {
      places_[part] = {block, operand, offset, strided_access(shape, strides(node.shape))};
      if (block >= 0) {
        int& first = blocks_[index_of(block)].first;
        first = std::min(first, position_[index_of(fusion_.group_of(part))]);
      }
    }
    offset += shape[axis] * strides(node.shape)[axis];
  }
}

/// Whether nobody reads a node from memory but those who join it to others: the first has it in its block, of which
/// the others copy it.
bool Lowering::may_lie_in(NodeId part) const {
  const int group = fusion_.group_of(part);
  const auto wanted = [&](NodeId id) { return id == part; };
  const auto in_place = [&](NodeId reader) {
    const bool in_registers = fusion_.group_of(reader) == group && reader != fusion_.group(group).anchor;
    return in_registers || std::holds_alternative<op::Concatenate>(graph_.node(reader).op);
  };
  return group >= 0 && programs_[index_of(group)] && part != fusion_.group(group).anchor && !places_.contains(part) &&
         std::ranges::all_of(fusion_.readers(part), in_place) && std::ranges::none_of(wanted_.results, wanted) &&
         std::ranges::none_of(wanted_.logs, wanted) &&
         std::ranges::none_of(graph_.assignments(),
                              [&](const auto& assignment) { return fusion_.base(assignment.current) == part; });
}

void Lowering::place_in_blocks() {
  for (int position = 0; position < end_; ++position)
    for_each_part(order_[index_of(position)], [&](int part) {
      const NodeId anchor = fusion_.group(part).anchor;
      if (anchor >= 0 && std::holds_alternative<op::Scan>(graph_.node(anchor).op)) return place_scan(part, position);
      if (anchor >= 0 && !places_.contains(anchor)) places_[anchor] = {new_block(bytes_of(anchor), position), {}};
      for (NodeId inner : fusion_.group(part).inner)
        if (fusion_.escapes(inner) && !places_.contains(inner))
          places_[inner] = {new_block(bytes_of(inner), position), {}};
      if (programs_[index_of(part)])
        for (NodeId output : programs_[index_of(part)]->outputs)
          if (!places_.contains(output)) places_[output] = {new_block(bytes_of(output), position), {}};
      if (anchor < 0 || is_join(part) || is_empty(part)) return;
      // A kernel's workspace depends on its shape only.
      Instruction instruction = emit_anchor(graph_.node(anchor), part);
      const std::size_t bytes = std::visit(
          [&](const auto& i) -> std::size_t {
            if constexpr (requires { i.workspace; })
              return device_.workspace(i);
            else
              return 0;
          },
          instruction);
      if (bytes) workspaces_[part] = new_block(bytes, position);
    });
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id)
    if (const int group = fusion_.group_of(id); group >= 0)
      for (NodeId source : fusion_.dependencies(id)) touch(source, position_[index_of(group)]);
  for (const auto* values : {&wanted_.results, &wanted_.logs, &wanted_.outputs})
    for (NodeId node : *values) touch(node, end_);
}

/// Where the instruction does not write to the variable itself, a copy at the step's end does. What is wanted as the
/// step found it, while the step overwrites it, is saved before anything else happens: the old value of a variable, as
/// a result or for another variable, and the batch.
void Lowering::place_copies() {
  for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
    const auto& [variable, current] = graph_.assignments()[i];
    const NodeId node = fusion_.base(current);
    if (in_variable_[i]) continue;
    touch(node, end_);
    const auto* read = std::get_if<op::Read>(&graph_.node(node).op);
    if (read && !(read->variable == variable) && is_assigned(read->variable)) save(node);
  }
  for (const auto* values : {&wanted_.results, &wanted_.logs})
    for (NodeId node : *values) {
      const auto* read = std::get_if<op::Read>(&graph_.node(node).op);
      if (std::holds_alternative<op::Input>(graph_.node(node).op) || (read && is_assigned(read->variable))) save(node);
    }
}

bool Lowering::is_assigned(const Variable& variable) const {
  return std::ranges::any_of(graph_.assignments(),
                             [&](const auto& assignment) { return assignment.variable == variable; });
}

void Lowering::save(NodeId leaf) {
  if (saved_.contains(leaf)) return;
  const int block = new_block(bytes_of(leaf), 0);
  blocks_[index_of(block)].last = end_;
  saved_[leaf] = block;
}

/// Where a leaf lies that was saved, or any other node.
Operand Lowering::kept_operand(NodeId node) const {
  const auto saved = saved_.find(node);
  return saved == saved_.end() ? operand(node) : block_operand(saved->second, graph_.node(node).dtype);
}

/// A program may write an output where an input lies that nobody reads afterwards.
void Lowering::take_over_inputs() {
  for (int position = 0; position < end_; ++position)
    for_each_part(order_[index_of(position)], [&](int part) {
      const auto& program = programs_[index_of(part)];
      // Parts of one instruction run one after the other: a later one may still read what an earlier one would write
      // to.
      if (!program || !fusion_.followers(order_[index_of(position)]).empty()) return;
      const auto is_kernel_operand = [&](int block) {
        return std::ranges::any_of(fusion_.kernel_operands(part), [&](NodeId source) {
          const auto place = places_.find(source);
          return place != places_.end() && place->second.block >= 0 && root(place->second.block) == block;
        });
      };
      const auto block_of = [&](const VirtualProgram::Input& input) {
        const int block = places_.at(input.source).block;
        return block < 0 ? -1 : root(block);
      };
      // Read element by element, as it is written.
      const auto read_in_step = [&](int block) {
        return std::ranges::all_of(program->inputs, [&](const VirtualProgram::Input& input) {
          return block_of(input) != block || (input.access.kind == Access::Kind::contiguous && input.offset == 0);
        });
      };
      for (NodeId output : program->outputs) {
        const int block = places_.at(output).block;
        if (block < 0 || places_.at(output).part || blocks_[index_of(block)].same_as >= 0) continue;
        for (const VirtualProgram::Input& input : program->inputs) {
          const int other = block_of(input);
          if (other < 0 || other == block || !read_in_step(other)) continue;
          Block& taken = blocks_[index_of(other)];
          if (taken.last != position || taken.bytes != bytes_of(output) || taken.bytes != bytes_of(input.source) ||
              is_kernel_operand(other))
            continue;
          taken.last = std::max(taken.last, blocks_[index_of(block)].last);
          blocks_[index_of(block)].same_as = other;
          break;
        }
      }
    });
}

void Lowering::lay_out_blocks() {
  std::vector<Lifetime> lives;
  std::vector<std::size_t> index(blocks_.size());
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].same_as >= 0) continue;
    index[i] = lives.size();
    lives.push_back({blocks_[i].bytes, blocks_[i].first, blocks_[i].last});
  }
  const Layout layout = lay_out(lives);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    offsets_.push_back(layout.offsets[index[index_of(root(static_cast<int>(i)))]]);
  lowered_.arena_bytes = layout.bytes;
}

Operand Lowering::block_operand(int block, DType dtype) const {
  return {0, offsets_.empty() ? 0 : static_cast<std::int64_t>(offsets_[index_of(block)]), dtype};
}

Operand Lowering::output_operand(std::size_t index) const {
  return {static_cast<std::int32_t>(1 + lowered_.input_count + index), 0, graph_.node(wanted_.outputs[index]).dtype};
}

Operand Lowering::operand(NodeId node) const {
  const Place& place = places_.at(fusion_.base(node));
  const DType dtype = graph_.node(node).dtype;
  Operand operand = place.block < 0 ? place.operand : block_operand(place.block, dtype);
  operand.offset += place.offset * static_cast<std::int64_t>(size_of(dtype));
  return operand;
}

}  // namespace etude
