#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "etude/data/batch.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/execution/plan.hpp"

namespace etude {

/// Arrays that lie on the devices of a strategy, each of which has a memory of its own, and the order in which steps
/// take their rows. Devices go on in it by themselves: they are told only where a pass begins, or is taken up
/// elsewhere.
class ResidentArrays {
 public:
  explicit ResidentArrays(StrategyPtr strategy) : strategy_(std::move(strategy)) {}

  /// Whether all devices have room for those, and for plans.
  bool fit(const Batch& arrays) const;
  /// Whether so many replicas take this batch where they are. Otherwise take() writes over what steps that have not run
  /// yet are about.
  bool goes_on(const Batch& batch, int replicas) const;
  /// What each of so many replicas selects for a batch that has a Selection. Arrays that are not there yet are taken
  /// there, in the place of others. Throws Error(state) where there is no room.
  std::span<const SelectedRows> take(const Batch& batch, int replicas);
  /// Gives the room back.
  void release();

 private:
  /// Of one replica: the order of which pass lies there, and where its next step begins.
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
