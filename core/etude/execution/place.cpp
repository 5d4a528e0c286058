#include "etude/execution/place.hpp"

#include <algorithm>
#include <unordered_map>

#include "etude/execution/access.hpp"
#include "etude/execution/lowering.hpp"
#include "etude/execution/memory.hpp"
#include "etude/execution/reuse_blocks.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {

using instruction::Access;

namespace {

/// Fills a Placement, step by step.
class Placer {
 public:
  Placer(Placement& placement, const Device& device, const CompileBody& compile_body)
      : placement_(placement),
        scheduled_(placement.scheduled),
        graph_(scheduled_.graph()),
        device_(device),
        compile_body_(compile_body) {}

  void place() {
    place_leaves();
    place_outputs();
    place_results_in_variables();
    place_concatenations();
    place_in_blocks();
    keep_operands();
    save_overwritten();
  }

 private:
  void place_leaves() {
    for (NodeId id = 0; id < scheduled_.fused.flow.count(); ++id) {
      const Node& node = graph_.node(id);
      if (const auto* input = std::get_if<op::Input>(&node.op))
        placement_.places[id] = {-1, {1 + input->index, 0, node.dtype}};
      if (const auto* read = std::get_if<op::Read>(&node.op)) place_variable(id, read->variable);
    }
    for (const Graph::Assignment& assignment : graph_.assignments()) add_storage(assignment.variable);
  }

  void place_variable(NodeId id, const Variable& variable) {
    add_storage(variable);
    placement_.places[id] = {-1, placement_.variable_operand(variable)};
  }

  void add_storage(const Variable& variable) {
    const std::shared_ptr<Storage>& storage = variable.storage(placement_.replica.index);
    if (std::ranges::find(placement_.storages, storage) == placement_.storages.end())
      placement_.storages.push_back(storage);
  }

  /// A loop's body writes its requested Values to the spaces after its inputs.
  void place_outputs() {
    const std::vector<NodeId>& outputs = scheduled_.wanted.outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!placement_.has_place(outputs[i])) placement_.places[outputs[i]] = {-1, placement_.output_operand(i)};
  }

  /// A program writes the new value of a variable over the old one, if no later instruction reads the old one.
  void place_results_in_variables() {
    placement_.in_variable.assign(graph_.assignments().size(), false);
    std::unordered_map<const void*, std::vector<NodeId>> old_values;
    for (NodeId id = 0; id < scheduled_.fused.flow.count(); ++id)
      if (const auto* read = std::get_if<op::Read>(&graph_.node(id).op)) old_values[read->variable.id()].push_back(id);
    for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
      const auto& [variable, current] = graph_.assignments()[i];
      const NodeId node = scheduled_.base(current);
      const int group = scheduled_.group_of(node);
      if (group < 0 || !scheduled_.programs[group] || placement_.has_place(node) ||
          node == scheduled_.group(group).anchor)
        continue;
      if (!may_overwrite(old_values[variable.id()], group)) continue;
      placement_.places[node] = {-1, placement_.variable_operand(variable)};
      placement_.in_variable[i] = true;
    }
  }

  /// Whether a group may write a variable whose old value these nodes read.
  bool may_overwrite(const std::vector<NodeId>& old_values, int group) const {
    const Fused& fused = scheduled_.fused;
    const IdVector<int>& position = scheduled_.schedule.position;
    const auto is_old_value = [&](NodeId id) { return std::ranges::find(old_values, id) != old_values.end(); };
    // No other group may read it at the same time or later ...
    for (NodeId old_value : old_values)
      for (NodeId id : fused.flow.readers[old_value]) {
        const int reader = scheduled_.group_of(id);
        if (reader >= 0 && reader != group && scheduled_.schedule.end_of(position[reader]) >= position[group])
          return false;
      }
    // ... and this group must read it element by element as it writes it, or entirely before it writes, if it computes
    // numbers of one whole row. A kernel reads ahead.
    if (std::ranges::any_of(kernel_operands(fused.flow, fused.grouping, group), is_old_value)) return false;
    const VirtualProgram& virtual_program = *scheduled_.programs[group];
    const instruction::Program& program = virtual_program.program;
    const bool reads_first =
        scheduled_.group(group).size == std::max<std::int64_t>(program.row, 1) &&
        (program.row == 0 || std::ranges::all_of(program.outputs, &instruction::Program::Output::per_row));
    return reads_first || std::ranges::none_of(virtual_program.inputs, [&](const VirtualProgram::Input& input) {
             return is_old_value(input.source) && !scheduled_.reads_in_step(group, input);
           });
  }

  /// Lets a program write the parts of a Concatenate in place, if nothing else reads them.
  void place_concatenations() {
    for (int at = 0; at < scheduled_.schedule.end(); ++at)
      scheduled_.schedule.for_each_part(at, [&](int part) {
        const NodeId anchor = scheduled_.group(part).anchor;
        if (anchor >= 0 && std::holds_alternative<op::Concatenate>(graph_.node(anchor).op)) place_parts(anchor, at);
      });
  }

  void place_parts(NodeId whole, int position) {
    const Node& node = graph_.node(whole);
    const auto axis = static_cast<std::ptrdiff_t>(std::get<op::Concatenate>(node.op).axis);
    if (!placement_.has_place(whole)) place_in_block(whole, position);
    const Place of_whole = placement_.places.at(whole);
    std::int64_t offset = 0;
    for (NodeId input : node.inputs) {
      const NodeId part = scheduled_.base(input);
      const Shape& shape = graph_.node(input).shape;
      if (may_lie_in(part)) {
        placement_.places[part] = {of_whole.block, of_whole.operand, offset,
                                   strided_access(shape, strides(node.shape))};
        if (of_whole.block >= 0) {
          int& first = placement_.blocks[of_whole.block].first;
          first = std::min(first, scheduled_.schedule.position[scheduled_.group_of(part)]);
        }
      }
      offset += shape[axis] * strides(node.shape)[axis];
    }
  }

  /// Whether only Concatenates read a node from memory. The node is stored in the block of the first; the others copy
  /// it.
  bool may_lie_in(NodeId part) const {
    const int group = scheduled_.group_of(part);
    const auto in_place = [&](NodeId reader) {
      const bool in_registers = scheduled_.group_of(reader) == group && reader != scheduled_.group(group).anchor;
      return in_registers || std::holds_alternative<op::Concatenate>(graph_.node(reader).op);
    };
    const auto is_wanted = [&](const std::vector<NodeId>& nodes) {
      return std::ranges::find(nodes, part) != nodes.end();
    };
    return group >= 0 && scheduled_.programs[group] && part != scheduled_.group(group).anchor &&
           !placement_.has_place(part) && std::ranges::all_of(scheduled_.fused.flow.readers[part], in_place) &&
           !is_wanted(scheduled_.wanted.results) && !is_wanted(scheduled_.wanted.logs) &&
           std::ranges::none_of(graph_.assignments(),
                                [&](const auto& assignment) { return scheduled_.base(assignment.current) == part; });
  }

  void place_in_block(NodeId node, int position) {
    placement_.places[node] = {placement_.new_block(scheduled_.bytes_of(node), position)};
  }

  void place_in_blocks() {
    for (int at = 0; at < scheduled_.schedule.end(); ++at)
      scheduled_.schedule.for_each_part(at, [&](int part) { place_part(part, at); });
  }

  void place_part(int part, int position) {
    const Group& group = scheduled_.group(part);
    if (group.anchor >= 0 && std::holds_alternative<op::Scan>(graph_.node(group.anchor).op))
      return place_loop(placement_, device_, part, position, compile_body_);
    const auto place = [&](NodeId node) {
      if (!placement_.has_place(node)) place_in_block(node, position);
    };
    if (group.anchor >= 0) place(group.anchor);
    for (NodeId inner : group.inner)
      if (scheduled_.fused.escapes[inner]) place(inner);
    if (const auto& program = scheduled_.programs[part]) std::ranges::for_each(program->outputs, place);
    if (group.anchor >= 0 && !is_all_reduce(scheduled_.fused, part) && group.size > 0) place_workspace(part, position);
  }

  /// Places the workspace of a kernel, which depends on the kernel's shape only.
  void place_workspace(int part, int position) {
    const std::size_t bytes = device_.workspace(lower_anchor(placement_, part));
    if (bytes) placement_.workspaces[part] = placement_.new_block(bytes, position);
  }

  void keep_operands() {
    for (NodeId id = 0; id < scheduled_.fused.flow.count(); ++id)
      if (const int group = scheduled_.group_of(id); group >= 0)
        for (NodeId source : scheduled_.fused.flow.dependencies[id])
          placement_.keep(source, scheduled_.schedule.position[group]);
    for (const auto& [start, await] : scheduled_.schedule.awaits)
      scheduled_.schedule.for_each_part(start, [&](int part) {
        const NodeId sum = scheduled_.group(part).anchor;
        for (const NodeId used : {sum, scheduled_.base(graph_.node(sum).inputs[0])}) placement_.keep(used, await);
      });
    const int end = scheduled_.schedule.end();
    for (const auto* values : {&scheduled_.wanted.results, &scheduled_.wanted.logs, &scheduled_.wanted.outputs})
      for (NodeId node : *values) placement_.keep(node, end);
    for (std::size_t i = 0; i < graph_.assignments().size(); ++i)
      if (!placement_.in_variable[i]) placement_.keep(scheduled_.base(graph_.assignments()[i].current), end);
  }

  /// Saves, before all other instructions, values from before the step that are needed later and that the step
  /// overwrites: the old value of a variable, as a result or for another variable, and the batch.
  void save_overwritten() {
    for (std::size_t i = 0; i < graph_.assignments().size(); ++i) {
      const auto& [variable, current] = graph_.assignments()[i];
      const NodeId node = scheduled_.base(current);
      const auto* read = std::get_if<op::Read>(&graph_.node(node).op);
      if (!placement_.in_variable[i] && read && !(read->variable == variable) && is_assigned(read->variable))
        save(node);
    }
    for (const auto* values : {&scheduled_.wanted.results, &scheduled_.wanted.logs})
      for (NodeId node : *values) {
        const auto* read = std::get_if<op::Read>(&graph_.node(node).op);
        if (std::holds_alternative<op::Input>(graph_.node(node).op) || (read && is_assigned(read->variable)))
          save(node);
      }
  }

  bool is_assigned(const Variable& variable) const {
    return std::ranges::any_of(graph_.assignments(),
                               [&](const auto& assignment) { return assignment.variable == variable; });
  }

  void save(NodeId leaf) {
    if (placement_.saved.contains(leaf)) return;
    const int block = placement_.new_block(scheduled_.bytes_of(leaf), 0);
    placement_.blocks[block].last = scheduled_.schedule.end();
    placement_.saved[leaf] = block;
  }

  Placement& placement_;
  const Scheduled& scheduled_;
  const Graph& graph_;
  const Device& device_;
  const CompileBody& compile_body_;
};

void lay_out_blocks(Placement& placement) {
  std::vector<Lifetime> lives;
  std::vector<Block*> blocks;
  for (Block& block : placement.blocks) {
    if (block.same_as >= 0) continue;
    blocks.push_back(&block);
    lives.push_back({block.bytes, block.first, block.last});
  }
  const Layout layout = lay_out(lives);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i]->offset = static_cast<std::int64_t>(layout.offsets[i]);
  placement.arena_bytes = layout.bytes;
}

}  // namespace

Placement place(const Scheduled& scheduled, const Device& device, const Replica& replica,
                const CompileBody& compile_body) {
  Placement placement(scheduled, replica);
  Placer(placement, device, compile_body).place();
  reuse_blocks(placement);
  lay_out_blocks(placement);
  return placement;
}

}  // namespace etude
