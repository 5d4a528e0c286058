#include <algorithm>

#include "etude/base/error.hpp"
#include "etude/execution/access.hpp"
#include "etude/execution/lowering.hpp"
#include "etude/execution/matrix_product.hpp"

// The instructions themselves, once it is known where everything lies.

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

/// [outer, count, inner] around axes [first, first + count) of a shape.
std::array<std::int64_t, 3> around(const Shape& shape, std::size_t first, std::size_t count) {
  return {shape.slice(0, first).size(), shape.slice(first, first + count).size(),
          shape.slice(first + count, shape.rank()).size()};
}

}  // namespace

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

/// What has no elements is not computed, and a Concatenate whose parts are all in place is no work.
void Lowering::append(std::vector<Instruction>& list, int group) {
  if (scans_.contains(group)) return emit_scan(list, group);
  if (fusion_.group(group).anchor >= 0 && !is_join(group) && is_empty(group)) return;
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
  if (is_join(group)) return emit_join(group);
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
  if (std::holds_alternative<op::Gather>(node.op))
    return instruction::Gather{
        shape(1).size(), shape(0).slice(1, shape(0).rank()).size(), shape(0)[0], in(0), in(1), out};
  if (const auto* o = std::get_if<op::ScatterAdd>(&node.op))
    return instruction::ScatterAdd{
        shape(1).size(), node.shape.slice(1, node.shape.rank()).size(), o->rows, in(0), in(1), out};
  if (std::holds_alternative<op::Softmax>(node.op)) return instruction::Softmax{rows(0), shape(0)[-1], in(0), out};
  if (std::holds_alternative<op::SoftmaxCrossentropy>(node.op))
    return Crossentropy{rows(0), shape(0)[-1], false, in(0), in(1), out};
  if (std::holds_alternative<op::SparseSoftmaxCrossentropy>(node.op))
    return Crossentropy{rows(0), shape(0)[-1], true, in(0), in(1), out};
  if (const auto* o = std::get_if<op::Uniform>(&node.op))
    return instruction::Uniform{o->seed, o->stream, node.shape.size(),
                                in(0),   out,       o->first + o->row_size * replica_.first_row};
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
    Segment segment{
        part.shape.size(), {access_to(fusion_.base(input))}, {strided_access(part.shape, strides(node.shape))}};
    Operand& target = segment.outputs[0].operand;
    target = out;
    target.offset += offset * static_cast<std::int64_t>(size_of(node.dtype));
    if (segment.size > 0 && segment.inputs[0].operand != target) result.segments.push_back(std::move(segment));
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
    if (is_empty(part)) return;
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
  Program& program = instruction.program;
  for (std::size_t o = 0; o < program.outputs.size(); ++o) {
    const auto step = std::find_if(program.steps.rbegin(), program.steps.rend(),
                                   [&](const Program::Step& s) { return s.result == program.outputs[o].reg; });
    if (step == program.steps.rend() || step->direct >= 0) continue;
    bool safe = true;
    for (const Segment& segment : instruction.segments) {
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
