#include "etude/execution/compile.hpp"

#include <utility>

#include "etude/execution/attention_pattern.hpp"
#include "etude/execution/emit.hpp"
#include "etude/execution/find_dataflow.hpp"
#include "etude/execution/form_groups.hpp"
#include "etude/execution/place.hpp"

namespace etude {
namespace {

Wanted bases(const Dataflow& flow, Wanted wanted) {
  for (auto* nodes : {&wanted.results, &wanted.logs, &wanted.outputs})
    for (NodeId& node : *nodes) node = flow.base[node];
  return wanted;
}

}  // namespace

Scheduled schedule(const Graph& graph, const Wanted& wanted, const Device& device, const Buckets& buckets) {
  Dataflow flow = find_dataflow(graph, wanted, device.attention_in(graph, wanted));
  Grouping grouping = form_groups(flow, device);
  Wanted base_nodes = bases(flow, wanted);
  Fused fused = recompute(std::move(flow), std::move(grouping), wanted, device);
  Programs programs = build_programs(fused);
  Schedule order = make_schedule(fused, programs, buckets);
  return {std::move(fused), std::move(programs), std::move(order), std::move(base_nodes)};
}

Lowered compile(const Graph& graph, const Wanted& wanted, const Device& device, const Replica& replica) {
  const Scheduled scheduled = schedule(graph, wanted, device, replica.buckets);
  const CompileBody compile_body = [&](const Graph& body, const Wanted& of_body) {
    return compile(body, of_body, device, {replica.index, replica.first_row});  // a loop has no all-reduces
  };
  const Placement placement = place(scheduled, device, replica, compile_body);
  return emit(placement, wanted);
}

}  // namespace etude
