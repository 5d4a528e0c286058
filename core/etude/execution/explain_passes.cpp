#include "etude/execution/explain_passes.hpp"

#include <string_view>

#include "etude/execution/attention_pattern.hpp"
#include "etude/execution/find_dataflow.hpp"
#include "etude/execution/form_groups.hpp"
#include "etude/execution/place.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

std::string node_name(NodeId id) { return '%' + std::to_string(id); }
std::string group_name(int group) { return '#' + std::to_string(group); }

template <class Ids> std::string list(const Ids& ids, std::string (*name)(std::int32_t)) {
  std::string text;
  for (std::int32_t id : ids) text += ' ' + name(id);
  return text;
}

std::string_view name_of(Phase phase) {
  return phase == Phase::step ? "step" : phase == Phase::logs ? "logs" : "never";
}

std::string text_of(const Dataflow& flow) {
  std::string text = "dataflow\n";
  for (NodeId id = 0; id < flow.count(); ++id) {
    const Node& node = flow.graph.node(id);
    text += "  " + node_name(id) + " = " + std::string(etude::name_of(node.op)) + list(node.inputs, node_name) + "  " +
            node.shape.to_string() + ", " + std::string(name_of(flow.phase[id]));
    if (!flow.is_base(id)) text += ", shows " + node_name(flow.base[id]);
    if (flow.level[id] > 0) text += ", level " + std::to_string(flow.level[id]);
    if (flow.in_memory[id]) text += ", in memory";
    if (flow.inlined[id]) text += ", inlined";
    if (!flow.dependencies[id].empty()) text += ", needs" + list(flow.dependencies[id], node_name);
    text += '\n';
  }
  return text;
}

std::string text_of(const AttentionPatterns& patterns) {
  if (patterns.all().empty()) return "attention nothing\n";
  std::string text = "attention\n";
  for (const AttentionPattern& pattern : patterns.all()) {
    text += "  " + node_name(pattern.output) + " of" + list(pattern.operands, node_name);
    std::vector<NodeId> gradients{pattern.d_query, pattern.d_key, pattern.d_value};
    std::erase(gradients, -1);
    if (!gradients.empty()) text += ", gradients" + list(gradients, node_name) + " of " + node_name(pattern.d_output);
    text += '\n';
  }
  return text;
}

std::string text_of(const Grouping& grouping, const char* title) {
  std::string text = std::string(title) + '\n';
  for (int index = 0; index < grouping.count(); ++index) {
    const Group& group = grouping.groups[index];
    if (group.is_empty()) continue;
    text += "  " + group_name(index) + " of " + std::to_string(group.size);
    if (group.row > 0) text += " in rows of " + std::to_string(group.row);
    text += ':';
    if (group.anchor >= 0) text += " anchor " + node_name(group.anchor);
    if (!group.inner.empty()) text += " with" + list(group.inner, node_name);
    text += list(group.members, node_name) + '\n';
  }
  return text;
}

std::string text_of_recomputed(const Fused& fused) {
  std::string text;
  for (NodeId id = 0; id < fused.flow.count(); ++id)
    if (fused.recomputed[id]) text += ' ' + node_name(id);
  return "recomputed" + (text.empty() ? std::string(" nothing") : text) + '\n';
}

std::string text_of(const Schedule& schedule) {
  std::string text = "schedule\n";
  for (int at = 0; at < schedule.end(); ++at) {
    text += "  " + std::to_string(at) + ':';
    schedule.for_each_part(at, [&](int part) { text += ' ' + group_name(part); });
    text += '\n';
  }
  return text;
}

std::string text_of(const Placement& placement) {
  std::string text = "placement in " + std::to_string(placement.arena_bytes) + " bytes\n";
  for (std::size_t i = 0; i < placement.blocks.size(); ++i) {
    const auto index = static_cast<int>(i);
    const Block& block = placement.blocks[index];
    text += "  &" + std::to_string(i) + ": " + std::to_string(block.bytes) + " bytes";
    text += block.same_as >= 0 ? " at &" + std::to_string(block.same_as)
                               : " at " + std::to_string(block.offset) + ", from " + std::to_string(block.first) +
                                     " to " + std::to_string(block.last);
    text += '\n';
  }
  for (const auto& [node, place] : placement.places) {
    text += "  " + node_name(node) + " in ";
    text += place.block >= 0
                ? '&' + std::to_string(place.block)
                : "space " + std::to_string(place.operand.space) + " at " + std::to_string(place.operand.offset);
    if (place.offset > 0) text += ", element " + std::to_string(place.offset);
    text += '\n';
  }
  return text;
}

}  // namespace

std::string explain_passes(const Graph& graph, const Wanted& wanted, const Device& device) {
  const Dataflow flow = find_dataflow(graph, wanted, device.attention_in(graph, wanted));
  const Scheduled scheduled = schedule(graph, wanted, device);
  const CompileBody compile_body = [&](const Graph& body, const Wanted& of_body) {
    return compile(body, of_body, device);
  };
  return text_of(flow.attention) + text_of(flow) + text_of(form_groups(flow, device), "groups") +
         text_of_recomputed(scheduled.fused) + text_of(scheduled.fused.grouping, "groups without what is recomputed") +
         text_of(scheduled.schedule) + text_of(place(scheduled, device, {}, compile_body));
}

}  // namespace etude
