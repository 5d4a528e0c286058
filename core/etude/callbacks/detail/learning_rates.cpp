#include "etude/callbacks/detail/learning_rates.hpp"

#include <map>

#include "etude/optimizers/multi_optimizer.hpp"

namespace etude {

std::vector<RatedOptimizer> rated_optimizers(Optimizer& optimizer) {
  std::vector<RatedOptimizer> rated;
  std::map<std::string, int> counts;
  for (Optimizer* inner : optimizers::inner_optimizers(optimizer)) {
    const int before = counts[inner->name()]++;
    rated.push_back({inner, before == 0 ? inner->name() : inner->name() + '_' + std::to_string(before)});
  }
  if (rated.empty()) rated.push_back({&optimizer, {}});
  return rated;
}

void log_learning_rates(Optimizer& optimizer, Logs& logs) {
  for (const RatedOptimizer& each : rated_optimizers(optimizer))
    logs.set(each.name.empty() ? "learning_rate" : "learning_rate_" + each.name, each.optimizer->learning_rate());
}

}  // namespace etude
