#pragma once

#include <memory>
#include <vector>

namespace etude {

class Arena;
class Strategy;
using StrategyPtr = std::shared_ptr<Strategy>;

/// The devices of a model's plans: its strategy's devices, and an arena on each of them.
struct Replicas {
  /// It has the devices.
  StrategyPtr strategy;
  /// One for each replica.
  std::vector<std::shared_ptr<Arena>> arenas;
};

}  // namespace etude
