#include <list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/distribute/detail/replicated_plan.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

/// A function, traced for one replica.
struct Traced {
  Graph graph;
  std::vector<Value> results;
  std::vector<const std::byte*> inputs;

  Traced(const Shard& shard, bool multiplies_halves, const Strategy::ReplicaFunction& function,
         const std::vector<PerReplica>& given, std::size_t replica)
      : graph(shard, multiplies_halves) {
    const Trace trace(graph);
    std::vector<Value> values;
    for (const PerReplica& each : given) {
      values.push_back(graph.input(each[replica].shape(), each[replica].dtype()));
      inputs.push_back(each[replica].raw());
    }
    results = function(values);
  }
  std::vector<Variable> variables() const {
    std::vector<Variable> read;
    for (const Node& node : graph.nodes())
      if (const auto* of = std::get_if<op::Read>(&node.op)) read.push_back(of->variable);
    return read;
  }
};

/// The first row of each replica of all processes, and the end of the last replica's rows.
std::vector<std::int64_t> begins_of(const std::vector<PerReplica>& inputs, std::size_t replicas, Workers* workers) {
  std::vector<std::int64_t> rows, begins{0};
  for (std::size_t replica = 0; replica < replicas; ++replica) {
    const Shape shape = inputs.empty() ? Shape() : inputs.front()[replica].shape();
    rows.push_back(shape.rank() > 0 ? shape[0] : 0);
  }
  if (has_device_libraries && workers) rows = workers->all_gather(rows.front());
  for (const std::int64_t each : rows) begins.push_back(begins.back() + each);
  return begins;
}

}  // namespace

std::vector<PerReplica> Strategy::run(const ReplicaFunction& function, const std::vector<PerReplica>& inputs) {
  const auto replicas = static_cast<std::size_t>(num_local_replicas());
  for (const PerReplica& input : inputs)
    check(input.size() == replicas, ErrorKind::value, name(), input.size(), " tensors for ", replicas,
          " replicas - expected a tensor for each - use split().");
  const std::vector<std::int64_t> begins = begins_of(inputs, replicas, others());
  const std::size_t first = first_local_replica();
  const Scope scope(shared_from_this());
  std::list<Traced> traced;
  for (std::size_t i = 0; i < replicas; ++i) {
    const Shard shard{num_replicas_in_sync(), begins[first + i + 1] - begins[first + i], begins.back()};
    place(traced.emplace_back(shard, multiplies_halves(), function, inputs, i).variables());
  }
  std::vector<const Traced*> by_replica;
  std::vector<std::vector<const std::byte*>> addresses;
  for (const Traced& own : traced) {
    by_replica.push_back(&own);
    addresses.push_back(own.inputs);
  }
  const auto first_rows = std::span(begins).subspan(first, replicas);
  std::vector<Plan> plans = compile_plans(*this, first_rows, [&](const Replica& replica) {
    const Traced& own = *by_replica[static_cast<std::size_t>(replica.index)];
    return Plan(own.graph, own.results, {}, std::make_shared<Arena>(device(replica.index)), replica);
  });
  ReplicatedPlan plan(std::move(plans), shared_from_this(), traced.front().graph, {});
  plan.run(addresses);
  std::vector<PerReplica> results(traced.front().results.size());
  for (std::size_t result = 0; result < results.size(); ++result)
    for (int replica = 0; replica < plan.replicas(); ++replica)
      results[result].push_back(plan.plan(replica).result(result));
  return results;
}

}  // namespace etude
