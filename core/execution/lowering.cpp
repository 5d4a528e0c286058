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

std::vector<NodeId> bases(const Fusion& fusion, std::span<const Value> values) {
  std::vector<NodeId> result;
  for (const Value& value : values) result.push_back(fusion.base(value.id()));
  return result;
}

std::size_t index_of(int group) { return static_cast<std::size_t>(group); }

/// [outer, count, inner] around axes [first, first + count) of a shape.
std::array<std::int64_t, 3> around(const Shape& shape, std::size_t first, std::size_t count) {
  return {shape.slice(0, first).size(), shape.slice(first, first + count).size(),
          shape.slice(first + count, shape.rank()).size()};
}

}  // namespace

Lowering::Lowering(Plan& plan, const Graph& graph, std::span<const Value> results, std::span<const Value> logs)
    : plan_(plan), graph_(graph), fusion_(graph, results, logs) {
  results_ = bases(fusion_, results);
  for (const Value& result : results) result_shapes_.push_back(result.shape());
  logs_ = bases(fusion_, logs);
}

void Lowering::lower() {
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
  place_results_in_variables();
  place_in_blocks();
  place_copies();
  take_over_inputs();
  lay_out_blocks();
  emit_all();
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
  plan_.input_count_ = static_cast<std::size_t>(graph_.input_count());
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
    const Node& node = graph_.node(id);
    if (const auto* input = std::get_if<op::Input>(&node.op)) places_[id] = {-1, {1 + input->index, 0, node.dtype}};
    if (const auto* read = std::get_if<op::Read>(&node.op)) places_[id] = {-1, variable_operand(read->variable)};
  }
}

Operand Lowering::variable_operand(const Variable& variable) {
  const auto found = std::ranges::find(plan_.storages_, variable.storage());
  const auto index = static_cast<std::size_t>(found - plan_.storages_.begin());
  if (found == plan_.storages_.end()) plan_.storages_.push_back(variable.storage());
  return {static_cast<std::int32_t>(1 + plan_.input_count_ + index), static_cast<std::int64_t>(variable.offset()),
          variable.dtype()};
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
  const NodeId anchor = fusion_.group(group).anchor;
  if (anchor >= 0 && std::ranges::any_of(fusion_.dependencies(anchor), is_old_value)) return false;
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

void Lowering::place_in_blocks() {
  for (int position = 0; position < end_; ++position)
    for_each_part(order_[index_of(position)], [&](int part) {
      const NodeId anchor = fusion_.group(part).anchor;
      if (anchor >= 0) places_[anchor] = {new_block(bytes_of(anchor), position), {}};
      if (programs_[index_of(part)])
        for (NodeId output : programs_[index_of(part)]->outputs)
          if (!places_.contains(output)) places_[output] = {new_block(bytes_of(output), position), {}};
      if (anchor < 0) return;
      // A kernel's workspace depends on its shape only.
      Instruction instruction = emit_anchor(graph_.node(anchor), part);
      std::size_t bytes = 0;
      if (const auto* gemm = std::get_if<Gemm>(&instruction)) bytes = plan_.arena().device().workspace(*gemm);
      if (const auto* reduce = std::get_if<Reduce>(&instruction)) bytes = plan_.arena().device().workspace(*reduce);
      if (bytes) workspaces_[part] = new_block(bytes, position);
    });
  for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id)
    if (const int group = fusion_.group_of(id); group >= 0)
      for (NodeId source : fusion_.dependencies(id)) touch(source, position_[index_of(group)]);
  for (const auto* values : {&results_, &logs_})
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
  for (const auto* values : {&results_, &logs_})
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
      const NodeId anchor = fusion_.group(part).anchor;
      const auto is_kernel_operand = [&](int block) {
        return anchor >= 0 && std::ranges::any_of(fusion_.dependencies(anchor), [&](NodeId source) {
                 const auto place = places_.find(source);
                 return place != places_.end() && place->second.block >= 0 && root(place->second.block) == block;
               });
      };
      for (NodeId output : program->outputs) {
        const int block = places_.at(output).block;
        if (block < 0 || blocks_[index_of(block)].same_as >= 0) continue;
        for (const VirtualProgram::Input& input : program->inputs) {
          const int other = places_.at(input.source).block < 0 ? -1 : root(places_.at(input.source).block);
          if (other < 0 || other == block || input.access.kind != Access::Kind::contiguous) continue;
          Block& taken = blocks_[index_of(other)];
          if (taken.last != position || taken.bytes != bytes_of(output) || is_kernel_operand(other)) continue;
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
  plan_.arena_bytes_ = layout.bytes;
}

Operand Lowering::block_operand(int block, DType dtype) const {
  return {0, offsets_.empty() ? 0 : static_cast<std::int64_t>(offsets_[index_of(block)]), dtype};
}

Operand Lowering::operand(NodeId node) const {
  const Place& place = places_.at(fusion_.base(node));
  return place.block < 0 ? place.operand : block_operand(place.block, graph_.node(node).dtype);
}

void Lowering::emit_all() {
  for (const auto& [node, block] : saved_)
    plan_.instructions_.push_back(Copy{static_cast<std::int64_t>(bytes_of(node)), operand(node), kept_operand(node)});
  for (int group : order_)
    if (fusion_.group(group).phase == Phase::step) plan_.instructions_.push_back(emit(group));
  emit_copies();
  for (int group : order_)
    if (fusion_.group(group).phase == Phase::logs) plan_.log_instructions_.push_back(emit(group));
  for (std::size_t i = 0; i < results_.size(); ++i)
    plan_.results_.push_back({kept_operand(results_[i]), result_shapes_[i]});
  for (NodeId node : logs_) plan_.logs_.push_back({kept_operand(node), graph_.node(node).shape});
}

void Lowering::emit_copies() {
  for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
    const auto& [variable, current] = graph_.assignments()[i];
    const NodeId node = fusion_.base(current);
    const auto* read = std::get_if<op::Read>(&graph_.node(node).op);
    if (in_variable_[i] || (read && read->variable == variable)) continue;
    plan_.instructions_.push_back(
        Copy{static_cast<std::int64_t>(variable.bytes()), kept_operand(node), variable_operand(variable)});
  }
}

Instruction Lowering::emit(int group) {
  const NodeId anchor = fusion_.group(group).anchor;
  if (anchor < 0) return emit_program(group);
  Instruction instruction = emit_anchor(graph_.node(anchor), group);
  if (workspaces_.contains(group)) {
    const Operand workspace = block_operand(workspaces_.at(group), DType::uint8);
    const std::size_t bytes = blocks_[index_of(workspaces_.at(group))].bytes;
    if (auto* gemm = std::get_if<Gemm>(&instruction)) gemm->workspace = workspace, gemm->workspace_bytes = bytes;
    if (auto* reduce = std::get_if<Reduce>(&instruction)) reduce->workspace = workspace;
  }
  if (programs_[index_of(group)]) std::get<Gemm>(instruction).epilogue = emit_program(group);
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
  if (const auto* o = std::get_if<op::Sum>(&node.op)) {
    const auto [outer, count, inner] = around(shape(0), o->first, o->count);
    return Reduce{Reduce::Kind::sum, outer, count, inner, in(0), out, {}};
  }
  if (const auto* o = std::get_if<op::Max>(&node.op)) {
    const auto [outer, count, inner] = around(shape(0), o->first, o->count);
    return Reduce{Reduce::Kind::max, outer, count, inner, in(0), out, {}};
  }
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
    Shape strides = node.shape, from = shape(0);
    std::array<std::int64_t, Shape::max_rank> step{};
    std::int64_t stride = 1;
    for (std::size_t i = from.rank(); i-- > 0;) {
      step[i] = stride;
      stride *= from[static_cast<std::ptrdiff_t>(i)];
    }
    for (std::size_t i = 0; i < from.rank(); ++i) strides[static_cast<std::ptrdiff_t>(i)] = step[o->order[i]];
    return instruction::Transpose{node.shape, strides, in(0), out};
  }
  fail(ErrorKind::internal, "Lowering", name_of(node.op),
       " has no instruction - expected one for every op that is not elementwise - "
       "this is a defect of the library.");
}

Elementwise Lowering::emit_program(int group) {
  Elementwise result{programs_[index_of(group)]->program, {}};
  for_each_part(group, [&](int part) {
    Segment segment;
    segment.size = fusion_.group(part).size;
    for (const VirtualProgram::Input& input : programs_[index_of(part)]->inputs) {
      segment.inputs.push_back(input.access);
      segment.inputs.back().operand = operand(input.source);
    }
    for (NodeId output : programs_[index_of(part)]->outputs) segment.outputs.push_back(operand(output));
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
                                   [&](const Program::Step& s) { return s.result == program.outputs[o]; });
    if (step == program.steps.rend() || step->direct >= 0) continue;
    bool safe = true;
    for (const Segment& segment : segments) {
      safe &= size_of(segment.outputs[o].dtype) >= 4;
      for (std::size_t i = 0; i < segment.inputs.size(); ++i) {
        const Operand& in = segment.inputs[i].operand;
        if (in.space != segment.outputs[o].space || in.offset != segment.outputs[o].offset) continue;
        for (auto later = step.base(); later != program.steps.end(); ++later)
          safe &= later->a != i && later->b != i && later->c != i;
        safe &= std::ranges::find(program.outputs, i) == program.outputs.end();
      }
    }
    if (safe) step->direct = static_cast<std::int16_t>(o);
  }
}

}  // namespace etude
