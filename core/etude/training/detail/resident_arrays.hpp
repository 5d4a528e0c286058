#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "etude/data/batch.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/execution/plan.hpp"

namespace etude {

/// Arrays in the memory of a strategy's devices, and the order in which steps read their rows. The devices advance the
/// position themselves. The host only uploads the start of a pass, or a jump to another row.
class ResidentArrays {
 public:
  explicit ResidentArrays(StrategyPtr strategy) : strategy_(std::move(strategy)) {}

  /// Whether all devices have enough memory for the arrays and for plans.
  bool fit(const Batch& arrays) const;
  /// Whether this batch follows the last one on this number of replicas. Otherwise upload() would overwrite data of
  /// steps that have not run yet.
  bool continues(const Batch& batch, int replicas) const;
  /// The selection of each replica of this process for a batch that has a Selection. `first_rows`: where the shards of
  /// these replicas begin within the batch. Arrays that are not on the devices yet are uploaded, and replace others.
  /// Throws Error(state) if there is not enough memory.
  std::span<const SelectedRows> upload(const Batch& batch, std::span<const std::int64_t> first_rows);
  /// Frees the memory.
  void release();

 private:
  /// By replica: the pass whose order is uploaded, and the start of the next step in it.
  struct Order {
    std::shared_ptr<Storage> storage;
    std::int64_t pass = -1, next = -1;
  };
  void hold(const std::shared_ptr<const Batch>& arrays);

  StrategyPtr strategy_;
  std::shared_ptr<const Batch> arrays_;
  std::vector<std::vector<std::shared_ptr<Storage>>> storages_;  ///< by replica; shared on one device
  std::vector<Order> orders_;                                    ///< by replica
  std::vector<SelectedRows> selected_;
};

}  // namespace etude
