#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "etude/distribute/replicas.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/execution/plan.hpp"

namespace etude {

/// Rows [begin, end) of a batch.
struct RowRange {
  std::int64_t begin, end;
};
/// The rows of replica `index`, of `replicas`: contiguous, in the order of the replicas, as even as can be; the first
/// replicas have one more where they do not come out even.
RowRange rows_of(std::int64_t batch, int replicas, int index);

/// Where the plans of a model run by a strategy.
Replicas replicas_of(StrategyPtr strategy);

/// One step of all replicas, each its own plan. They run side by side up to where they join, are joined, and run on:
/// nothing waits within a plan, and where the target has no threads, one runs after the other to the same bits. With
/// one plan it is that plan.
class ReplicatedPlan {
 public:
  /// `plans` are those of the replicas that have a share of the batch, in their order. Where they are fewer than the
  /// strategy has, the others get what these made of the variables. `graph` is the first one's. Throws Error(state)
  /// where the plans do not join the same.
  ReplicatedPlan(std::vector<Plan> plans, StrategyPtr strategy, const Graph& graph, std::span<const Value> logs);

  int replicas() const { return static_cast<int>(plans_.size()); }
  Plan& plan(int replica = 0) { return plans_[static_cast<std::size_t>(replica)]; }
  const Plan& plan(int replica = 0) const { return plans_[static_cast<std::size_t>(replica)]; }

  /// Runs the step; `inputs` has a list for each replica.
  void run(std::span<const std::vector<const std::byte*>> inputs);
  /// The same in two parts. Of a plan that is not full() yet, more batches can be taken before the steps of all of them
  /// run, which a device may replay as one.
  void take(std::span<const std::vector<const std::byte*>> inputs);
  /// The same where each replica selects its batch.
  void take(std::span<const SelectedRows> rows);
  bool full() const { return taken_ == steps_; }
  /// False: there is none.
  bool run_taken();
  /// Computes the logs from what the last step left.
  void run_logs();
  /// The mean over the replicas, where they may differ.
  double log(std::size_t index) const;

  /// Result `index` of all replicas, joined along its first axis; a scalar is the first one's.
  Shape result_shape(std::size_t index) const;
  void read_result(std::size_t index, std::byte* out) const;

 private:
  void run_steps(std::int64_t steps);
  bool advance(std::size_t stretch);
  void join(std::vector<ReplicaSum>& bucket);

  std::vector<Plan> plans_;
  StrategyPtr strategy_;
  std::vector<std::size_t> varying_logs_;             ///< indices
  std::vector<Variable> assigned_;                    ///< where there are replicas that have no share
  std::vector<const instruction::AllReduce*> joins_;  ///< by replica: where it stands
  std::vector<std::vector<ReplicaSum>> buckets_;      ///< in the order of the joins of a step
  std::int64_t steps_, taken_ = 0;
  // Where one device queues what all replicas do.
  std::vector<std::byte*> addresses_;
  std::vector<std::unique_ptr<Device::Recording>> recordings_;  ///< by the number of steps, less one
  /// Where each replica has a GPU of its own: of each step, of each stretch from join to join, of each replica.
  std::vector<std::unique_ptr<Device::Recording>> stretches_;
  bool on_host_;
};

}  // namespace etude
