#pragma once

#include <memory>
#include <vector>

namespace etude {

class Arena;
class Strategy;
using StrategyPtr = std::shared_ptr<Strategy>;

/// The devices of a model's plans: its strategy's devices, and an arena on each of them.
struct Replicas {
  /// The strategy, which provides the devices.
  StrategyPtr strategy;
  /// An arena for each replica.
  std::vector<std::shared_ptr<Arena>> arenas;
};

}  // namespace etude
