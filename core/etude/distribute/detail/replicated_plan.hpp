#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "etude/distribute/detail/per_replica.hpp"
#include "etude/distribute/replicas.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/execution/plan.hpp"

namespace etude {

/// Compiles a plan for each replica of this process, whose rows begin at `first_rows`. The plans of all replicas, also
/// of other processes, start the same all-reduces: those of the first one.
std::vector<Plan> compile_plans(Strategy& strategy, std::span<const std::int64_t> first_rows,
                                const std::function<Plan(const Replica&)>& compile);

/// The devices of a model's plans under a strategy, with an arena on each of them.
Replicas replicas_of(StrategyPtr strategy);

/// One step of all replicas, each with its own plan. The plans run in parallel up to an all-reduce, are reduced, and
/// run on. Plans do not wait for each other within their work, but may await sums that were started earlier; then there
/// is one plan, or plans that only enqueue work. On targets without threads, they run one after the other, with the
/// same bits. With one plan, it runs that plan.
class ReplicatedPlan {
 public:
  /// `plans` belong to the replicas that have a shard of the batch, in their order. If the strategy has more replicas,
  /// the others get copies of the assigned variables. `graph` is that of the first replica. With several processes, all
  /// of them make their plan at the same time. Throws Error(state) if the all-reduces of the plans differ.
  ReplicatedPlan(std::vector<Plan> plans, StrategyPtr strategy, const Graph& graph, std::span<const Value> logs);

  int replicas() const { return static_cast<int>(plans_.size()); }
  Plan& plan(int replica = 0) { return plans_[static_cast<std::size_t>(replica)]; }
  const Plan& plan(int replica = 0) const { return plans_[static_cast<std::size_t>(replica)]; }

  /// Runs the step. `inputs` has a list for each replica.
  void run(std::span<const std::vector<const std::byte*>> inputs);
  /// The same in two parts. While the plan is not full(), more batches can be uploaded before the steps of all of them
  /// run. A device may replay these steps as one.
  void upload(std::span<const std::vector<const std::byte*>> inputs);
  /// The same if each replica selects its batch.
  void upload(std::span<const SelectedRows> rows);
  bool full() const { return uploaded_ == steps_; }
  /// Returns false if there is no uploaded batch.
  bool run_uploaded();
  /// Forgets uploaded batches.
  void discard() { uploaded_ = 0; }
  /// Computes the logs from the results of the last step.
  void run_logs();
  /// Adds the memory ranges of the logs, or of the results, of all replicas.
  void add_log_ranges(std::vector<StorageRange>& ranges) const;
  void add_result_ranges(std::vector<StorageRange>& ranges) const;
  /// A log; its mean over the replicas, if it may differ between them.
  double log(std::size_t index) const;

  /// Result `index` of all replicas, concatenated along its first axis; of a scalar, that of the first replica.
  Shape result_shape(std::size_t index) const;
  void read_result(std::size_t index, std::byte* out) const;

 private:
  bool replays_steps() const;
  void run_steps(std::int64_t steps);
  bool advance();
  const Instruction* advance(std::size_t replica);
  std::unique_ptr<Device::Recording>* next_chunk(std::size_t replica);
  void run_step(std::int64_t step);
  void join(std::vector<ReplicaSum>& bucket);
  void await_all() noexcept;
  void agree(Workers& workers, const Graph& graph);
  void share_assigned();

  std::vector<Plan> plans_;
  StrategyPtr strategy_;
  std::vector<std::size_t> varying_logs_;         ///< indices
  std::vector<Variable> assigned_;                ///< if some replicas have no shard
  std::vector<const Instruction*> current_;       ///< by replica: its current all-reduce
  int started_ = 0;                               ///< all-reduces of this step that may not be awaited yet
  std::vector<std::vector<ReplicaSum>> buckets_;  ///< in the order of the all-reduces of a step
  std::int64_t steps_, uploaded_ = 0;
  // If one device enqueues the work of all replicas.
  std::vector<std::byte*> addresses_;
  std::vector<std::unique_ptr<Device::Recording>> recordings_;  ///< by the number of steps, less one
  /// If GPUs all-reduce with others: by replica, by step, by chunk between two all-reduce instructions.
  std::vector<std::vector<std::unique_ptr<Device::Recording>>> chunks_;
  std::vector<std::size_t> next_chunks_;  ///< by replica
  bool on_host_;
  /// With several processes, each of which has a shard: by result, the rows of each process.
  std::vector<std::vector<std::int64_t>> worker_rows_;
};

}  // namespace etude
