#include "etude/execution/emit.hpp"

#include <algorithm>

#include "etude/execution/emit_loop.hpp"
#include "etude/execution/lowering.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

using instruction::Access;
using instruction::Copy;
using instruction::Elementwise;
using instruction::Program;
using instruction::Segment;

namespace {

std::int64_t bytes_of(const Placement& placement, NodeId node) {
  return static_cast<std::int64_t>(placement.scheduled.bytes_of(node));
}

/// A step may write its result straight to memory, unless a later step still reads an input that lies there.
void find_direct_steps(Elementwise& instruction) {
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

/// Emits the elementwise nodes of a group, and of the groups that are bundled with it.
Elementwise emit_program(const Placement& placement, int group) {
  const Scheduled& scheduled = placement.scheduled;
  Elementwise result{scheduled.programs[group]->program, {}};
  scheduled.schedule.bundles.for_each_part(group, [&](int part) {
    if (scheduled.group(part).size == 0) return;
    const VirtualProgram& program = *scheduled.programs[part];
    Segment segment;
    segment.size = scheduled.group(part).size;
    for (const VirtualProgram::Input& input : program.inputs) {
      segment.inputs.push_back(input.access);
      Operand& operand = segment.inputs.back().operand;
      operand = placement.operand(input.source);
      operand.offset += input.offset * static_cast<std::int64_t>(size_of(operand.dtype));
    }
    for (NodeId output : program.outputs) segment.outputs.push_back(placement.access_to(output));
    result.segments.push_back(std::move(segment));
  });
  find_direct_steps(result);
  return result;
}

instruction::AllReduce emit_all_reduce(const Placement& placement, int group) {
  const Scheduled& scheduled = placement.scheduled;
  instruction::AllReduce result;
  scheduled.schedule.bundles.for_each_part(group, [&](int part) {
    const NodeId sum = scheduled.group(part).anchor;
    const Node& node = scheduled.graph().node(sum);
    result.parts.push_back({node.shape.size(), placement.operand(node.inputs[0]), placement.operand(sum)});
  });
  const auto& awaits = scheduled.schedule.awaits;
  const auto await = awaits.find(scheduled.schedule.position[group]);
  if (has_device_libraries && await != awaits.end())
    result.number = static_cast<int>(std::distance(awaits.begin(), await));
  return result;
}

/// Emits a kernel with its workspace, and with its epilogue, if it has one.
Instruction emit_kernel(const Placement& placement, int group) {
  Instruction instruction = lower_anchor(placement, group);
  const auto workspace = placement.workspaces.find(group);
  const bool works = workspace != placement.workspaces.end();
  std::visit(
      [&](auto& i) {
        if constexpr (requires { i.workspace; })
          if (works) i.workspace = placement.block_operand(workspace->second, DType::uint8);
        if constexpr (requires { i.workspace_bytes; })
          if (works) i.workspace_bytes = placement.blocks[workspace->second].bytes;
        if constexpr (requires { i.epilogue; })
          if (placement.scheduled.programs[group]) i.epilogue = emit_program(placement, group);
      },
      instruction);
  return instruction;
}

/// Skips nodes without elements, and a Concatenate whose parts are all in place.
void emit_group(std::vector<Instruction>& list, const Placement& placement, int group) {
  if (placement.loops.contains(group)) return emit_loop(list, placement, group);
  const Group& of = placement.scheduled.group(group);
  if (is_all_reduce(placement.scheduled.fused, group)) return list.push_back(emit_all_reduce(placement, group));
  if (of.anchor >= 0 && of.size == 0) return;
  Instruction instruction = of.anchor < 0 ? Instruction(emit_program(placement, group)) : emit_kernel(placement, group);
  const auto* program = std::get_if<Elementwise>(&instruction);
  if (!program || !program->segments.empty()) list.push_back(std::move(instruction));
}

/// Awaits the all-reduces whose sums the instruction at `position` is the first to read.
void emit_awaits(std::vector<Instruction>& list, const Schedule& schedule, int position) {
  if (!has_device_libraries) return;
  int number = 0;
  for (const auto& [start, await] : schedule.awaits) {
    if (await == position) list.push_back(instruction::AwaitSums{number});
    ++number;
  }
}

/// Instructions of the step come before those of the logs. Sums that only these read are awaited at the end of the
/// step.
void emit_phases(Lowered& lowered, const Placement& placement) {
  const Schedule& schedule = placement.scheduled.schedule;
  for (int at = 0; at <= schedule.end(); ++at) {
    emit_awaits(lowered.instructions, schedule, at);
    if (at == schedule.end()) break;
    const int group = schedule.order[static_cast<std::size_t>(at)];
    const bool in_step = placement.scheduled.group(group).phase == Phase::step;
    emit_group(in_step ? lowered.instructions : lowered.log_instructions, placement, group);
  }
}

/// Emits copies to variables and outputs that instructions do not write directly.
void emit_copies(std::vector<Instruction>& list, const Placement& placement) {
  const Scheduled& scheduled = placement.scheduled;
  const auto& assignments = scheduled.graph().assignments();
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const auto& [variable, current] = assignments[i];
    const NodeId node = scheduled.base(current);
    const auto* read = std::get_if<op::Read>(&scheduled.graph().node(node).op);
    if (placement.in_variable[i] || (read && read->variable == variable)) continue;
    list.push_back(Copy{static_cast<std::int64_t>(variable.bytes()), placement.kept_operand(node),
                        placement.variable_operand(variable)});
  }
  const std::vector<NodeId>& outputs = scheduled.wanted.outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (placement.operand(outputs[i]) != placement.output_operand(i))
      list.push_back(Copy{bytes_of(placement, outputs[i]), placement.operand(outputs[i]), placement.output_operand(i)});
}

}  // namespace

Lowered emit(const Placement& placement, const Wanted& wanted) {
  const Graph& graph = placement.scheduled.graph();
  Lowered lowered;
  lowered.input_count = placement.input_count;
  lowered.arena_bytes = placement.arena_bytes;
  lowered.storages = placement.storages;
  lowered.buckets = placement.scheduled.schedule.buckets;
  for (const auto& [node, block] : placement.saved)
    lowered.instructions.push_back(
        Copy{bytes_of(placement, node), placement.operand(node), placement.kept_operand(node)});
  emit_phases(lowered, placement);
  emit_copies(lowered.instructions, placement);
  const auto result_of = [&](NodeId node) {
    return Lowered::Result{placement.kept_operand(placement.scheduled.base(node)), graph.node(node).shape};
  };
  for (NodeId node : wanted.results) lowered.results.push_back(result_of(node));
  for (NodeId node : wanted.logs) lowered.logs.push_back(result_of(node));
  return lowered;
}

}  // namespace etude
