#pragma once

#include <memory>
#include <vector>

namespace etude {

class Arena;
class Strategy;
using StrategyPtr = std::shared_ptr<Strategy>;

/// Where the plans of one model run: its strategy's devices, and an arena on each of them.
struct Replicas {
  StrategyPtr strategy;
  std::vector<std::shared_ptr<Arena>> arenas;
};

}  // namespace etude
