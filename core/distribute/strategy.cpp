#include "etude/distribute/strategy.hpp"

#include <utility>

namespace etude {
namespace {

thread_local StrategyPtr current;

}  // namespace

Strategy::Scope::Scope(StrategyPtr strategy) : outer_(std::exchange(current, std::move(strategy))) {}
Strategy::Scope::~Scope() { current = std::move(outer_); }

StrategyPtr get_strategy() {
  static const StrategyPtr fallback = std::make_shared<OneDeviceStrategy>();
  return current ? current : fallback;
}

}  // namespace etude
