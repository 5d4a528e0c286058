#include "etude/execution/lowering.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "etude/base/error.hpp"
#include "etude/execution/matrix_product.hpp"
#include "etude/execution/memory.hpp"

namespace etude {

using instruction::Access;
using instruction::ArgMax;
using instruction::Copy;
using instruction::Crossentropy;
using instruction::Elementwise;
using instruction::Gemm;
using instruction::OneHot;
using instruction::Program;
using instruction::Reduce;
using instruction::Segment;

namespace {

std::vector<NodeId> bases(const Fusion& fusion, std::vector<NodeId> nodes) {
  for (NodeId& node : nodes) node = fusion.base(node);
  return nodes;
}

/// [outer, count, inner] around axes [first, first + count) of a shape.
std::array<std::int64_t, 3> around(const Shape& shape, std::size_t first, std::size_t count) {
  return {shape.slice(0, first).size(), shape.slice(first, first + count).size(),
          shape.slice(first + count, shape.rank()).size()};
}

}  // namespace

Lowering::Lowering(const Graph& graph, const Wanted& wanted, const Device& device)
    : graph_(graph), device_(device), fusion_(graph, wanted) {
  for (NodeId result : wanted.results) result_shapes_.push_back(graph.node(result).shape);
  wanted_ = {bases(fusion_, wanted.results), bases(fusion_, wanted.logs), bases(fusion_, wanted.outputs)};
}

Lowered Lowering::lower() {
  for (int group = 0; group < static_cast<int>(fusion_.group_count()); ++group)
    programs_.push_back(fusion_.group(group).members.empty()
                            ? std::nullopt
                            : std::optional(build_program(fusion_, fusion_.group(group))));
  join_equal_updates();
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
  lay_out_blocks();
  emit_all();
  return std::move(lowered_);
}

template <class Visitor> void Lowering::for_each_part(int group, Visitor&& visit) const {
  visit(group);
  for (int follower : fusion_.followers(group)) visit(follower);
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
  const auto found = std::ranges::find(lowered_.storages, variable.storage());
  const auto index = static_cast<std::size_t>(found - lowered_.storages.begin());
  if (found == lowered_.storages.end()) lowered_.storages.push_back(variable.storage());
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
  for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
    const auto& [variable, current] = graph_.assignments()[i];
    const NodeId node = fusion_.base(current);
    const int group = fusion_.group_of(node);
    if (group < 0 || !programs_[index_of(group)] || places_.contains(node) || node == fusion_.group(group).anchor)
      continue;
    if (!may_write(variable, group)) continue;
    places_[node] = {-1, variable_operand(variable)};
    in_variable_[i] = true;
  }
}

bool Lowering::may_write(const Variable& variable, int group) const {
  const auto is_old_value = [&](NodeId id) {
    const auto* read = std::get_if<op::Read>(&graph_.node(id).op);
    return read && read->variable == variable;
  };
  // Nobody but this group may read it at the same time or later ...
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    const int reader = fusion_.group_of(id);
    if (reader < 0 || reader == group || position_[index_of(reader)] < position_[index_of(group)]) continue;
    if (std::ranges::any_of(fusion_.dependencies(id), is_old_value)) return false;
  }
  // ... and this one element by element, as it writes it; a kernel at its head reads ahead.
  if (std::ranges::any_of(fusion_.kernel_operands(group), is_old_value)) return false;
  return std::ranges::none_of(programs_[index_of(group)]->inputs, [&](const VirtualProgram::Input& input) {
    return is_old_value(input.source) && input.access.kind != Access::Kind::contiguous && fusion_.group(group).size > 1;
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

bool Lowering::may_lie_in(NodeId part) const {
  const int group = fusion_.group_of(part);
  const auto wanted = [&](NodeId id) { return id == part; };
  return group >= 0 && programs_[index_of(group)] && part != fusion_.group(group).anchor && !places_.contains(part) &&
         fusion_.readers(part).size() == 1 && std::ranges::none_of(wanted_.results, wanted) &&
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
      if (anchor < 0) return;
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
      for (NodeId output : program->outputs) {
        const int block = places_.at(output).block;
        if (block < 0 || places_.at(output).part || blocks_[index_of(block)].same_as >= 0) continue;
        for (const VirtualProgram::Input& input : program->inputs) {
          const int other = places_.at(input.source).block < 0 ? -1 : root(places_.at(input.source).block);
          if (other < 0 || other == block || input.access.kind != Access::Kind::contiguous) continue;
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

void Lowering::emit_all() {
  for (const auto& [node, block] : saved_)
    lowered_.instructions.push_back(Copy{static_cast<std::int64_t>(bytes_of(node)), operand(node), kept_operand(node)});
  for (int group : order_)
    if (fusion_.group(group).phase == Phase::step) append(lowered_.instructions, group);
  emit_copies();
  for (int group : order_)
    if (fusion_.group(group).phase == Phase::logs) append(lowered_.log_instructions, group);
  for (std::size_t i = 0; i < wanted_.results.size(); ++i)
    lowered_.results.push_back({kept_operand(wanted_.results[i]), result_shapes_[i]});
  for (NodeId node : wanted_.logs) lowered_.logs.push_back({kept_operand(node), graph_.node(node).shape});
}

/// A Concatenate whose parts are all in place is no work.
void Lowering::append(std::vector<Instruction>& list, int group) {
  if (scans_.contains(group)) return emit_scan(list, group);
  Instruction instruction = emit(group);
  const auto* program = std::get_if<Elementwise>(&instruction);
  if (!program || !program->segments.empty()) list.push_back(std::move(instruction));
}

void Lowering::emit_copies() {
  for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
    const auto& [variable, current] = graph_.assignments()[i];
    const NodeId node = fusion_.base(current);
    const auto* read = std::get_if<op::Read>(&graph_.node(node).op);
    if (in_variable_[i] || (read && read->variable == variable)) continue;
    lowered_.instructions.push_back(
        Copy{static_cast<std::int64_t>(variable.bytes()), kept_operand(node), variable_operand(variable)});
  }
  for (std::size_t i = 0; i < wanted_.outputs.size(); ++i) {
    const NodeId node = wanted_.outputs[i];
    if (operand(node) == output_operand(i)) continue;
    lowered_.instructions.push_back(Copy{static_cast<std::int64_t>(bytes_of(node)), operand(node), output_operand(i)});
  }
}

Instruction Lowering::emit(int group) {
  const NodeId anchor = fusion_.group(group).anchor;
  if (anchor < 0) return emit_program(group);
  Instruction instruction = emit_anchor(graph_.node(anchor), group);
  const auto workspace = workspaces_.find(group);
  std::visit(
      [&](auto& i) {
        if constexpr (requires { i.workspace; })
          if (workspace != workspaces_.end()) i.workspace = block_operand(workspace->second, DType::uint8);
        if constexpr (requires { i.workspace_bytes; })
          if (workspace != workspaces_.end()) i.workspace_bytes = blocks_[index_of(workspace->second)].bytes;
        if constexpr (requires { i.epilogue; })
          if (programs_[index_of(group)]) i.epilogue = emit_program(group);
      },
      instruction);
  return instruction;
}

Instruction Lowering::emit_anchor(const Node& node, int group) {
  const Operand out = operand(fusion_.group(group).anchor);
  const auto in = [&](std::size_t i) { return operand(node.inputs[i]); };
  const auto shape = [&](std::size_t i) -> const Shape& { return graph_.node(node.inputs[i]).shape; };
  const auto rows = [&](std::size_t i) { return shape(i).size() / std::max<std::int64_t>(shape(i)[-1], 1); };

  if (std::holds_alternative<op::MatMul>(node.op)) {
    auto [gemm, a, b] = matrix_product(fusion_, fusion_.group(group).anchor);
    gemm.a.operand = operand(a);
    gemm.b.operand = operand(b);
    gemm.c.operand = out;
    return gemm;
  }
  if (const auto windowed = emit_windowed(node, group)) return *windowed;
  if (const auto* o = std::get_if<op::Sum>(&node.op)) {
    const auto [outer, count, inner] = around(shape(0), o->first, o->count);
    return Reduce{Reduce::Kind::sum, outer, count, inner, in(0), out, {}};
  }
  if (const auto* o = std::get_if<op::Max>(&node.op)) {
    const auto [outer, count, inner] = around(shape(0), o->first, o->count);
    return Reduce{Reduce::Kind::max, outer, count, inner, in(0), out, {}};
  }
  if (std::holds_alternative<op::Concatenate>(node.op)) return emit_concatenate(node, out);
  if (std::holds_alternative<op::ArgMax>(node.op)) return ArgMax{rows(0), shape(0)[-1], in(0), out};
  if (const auto* o = std::get_if<op::OneHot>(&node.op)) return OneHot{shape(0).size(), o->depth, in(0), out};
  if (std::holds_alternative<op::Softmax>(node.op)) return instruction::Softmax{rows(0), shape(0)[-1], in(0), out};
  if (std::holds_alternative<op::SoftmaxCrossentropy>(node.op))
    return Crossentropy{rows(0), shape(0)[-1], false, in(0), in(1), out};
  if (std::holds_alternative<op::SparseSoftmaxCrossentropy>(node.op))
    return Crossentropy{rows(0), shape(0)[-1], true, in(0), in(1), out};
  if (const auto* o = std::get_if<op::Uniform>(&node.op))
    return instruction::Uniform{o->seed, o->stream, node.shape.size(), in(0), out};
  if (const auto* o = std::get_if<op::Transpose>(&node.op)) {
    const Shape from = strides(shape(0));
    Shape steps = node.shape;
    for (std::size_t i = 0; i < from.rank(); ++i) steps[static_cast<std::ptrdiff_t>(i)] = from[o->order[i]];
    return instruction::Transpose{node.shape, steps, in(0), out};
  }
  fail(ErrorKind::internal, "Lowering", name_of(node.op),
       " has no instruction - expected one for every op that is not elementwise - "
       "this is a defect of the library.");
}

/// Copies the parts that do not lie in the whole yet.
Elementwise Lowering::emit_concatenate(const Node& node, const Operand& out) {
  const instruction::Lane lane = instruction::lane_of(node.dtype);
  Elementwise result;
  result.program.inputs = {{lane}};
  result.program.outputs = {{0}};
  result.program.registers = 1;
  const auto axis = static_cast<std::ptrdiff_t>(std::get<op::Concatenate>(node.op).axis);
  std::int64_t offset = 0;
  for (NodeId input : node.inputs) {
    const Node& part = graph_.node(input);
    if (const auto place = places_.find(fusion_.base(input)); !place->second.part) {
      Segment segment{part.shape.size(), {{operand(input)}}, {strided_access(part.shape, strides(node.shape))}};
      segment.outputs[0].operand = out;
      segment.outputs[0].operand.offset += offset * static_cast<std::int64_t>(size_of(node.dtype));
      result.segments.push_back(std::move(segment));
    }
    offset += part.shape[axis] * strides(node.shape)[axis];
  }
  return result;
}

Access Lowering::access_to(NodeId output) const {
  Access access = places_.at(output).part.value_or(Access{});
  access.operand = operand(output);
  return access;
}

Elementwise Lowering::emit_program(int group) {
  Elementwise result{programs_[index_of(group)]->program, {}};
  for_each_part(group, [&](int part) {
    Segment segment;
    segment.size = fusion_.group(part).size;
    for (const VirtualProgram::Input& input : programs_[index_of(part)]->inputs) {
      segment.inputs.push_back(input.access);
      Operand& operand = segment.inputs.back().operand;
      operand = this->operand(input.source);
      operand.offset += input.offset * static_cast<std::int64_t>(size_of(operand.dtype));
    }
    for (NodeId output : programs_[index_of(part)]->outputs) segment.outputs.push_back(access_to(output));
    result.segments.push_back(std::move(segment));
  });
  find_direct_steps(result);
  return result;
}

/// A step may write its result straight to memory, unless a later step still reads an input that lies there.
void Lowering::find_direct_steps(Elementwise& instruction) const {
  auto& [program, segments] = instruction;
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    const auto step = std::find_if(program.steps.rbegin(), program.steps.rend(),
                                   [&](const Program::Step& s) { return s.result == program.outputs[o].reg; });
    if (step == program.steps.rend() || step->direct >= 0) continue;
    bool safe = true;
    for (const Segment& segment : segments) {
      const Access& out = segment.outputs[o];
      safe &= size_of(out.operand.dtype) >= 4 && out.kind != Access::Kind::strided;
      for (std::size_t i = 0; i < segment.inputs.size(); ++i) {
        const Operand& in = segment.inputs[i].operand;
        if (in.space != out.operand.space || in.offset != out.operand.offset) continue;
        for (auto later = step.base(); later != program.steps.end(); ++later)
          safe &= later->a != i && later->b != i && later->c != i;
        safe &= std::ranges::find(program.outputs, i, &Program::Output::reg) == program.outputs.end();
      }
    }
    if (safe) step->direct = static_cast<std::int16_t>(o);
  }
}

}  // namespace etude
