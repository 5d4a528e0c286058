#pragma once

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "training_samples.hpp"

/// Shared by tests of replicas: models created within a strategy's scope, and checks of every replica's variables.
namespace etude::samples {

inline StrategyPtr mirrored(int replicas) {
  return std::make_shared<MirroredStrategy>(MirroredOptions{.replicas = replicas});
}

/// The result of `make` within the scope of a strategy with `replicas` replicas.
template <class Make> auto within(const StrategyPtr& strategy, Make&& make) {
  const auto scope = strategy->scope();
  return make();
}

/// Everything that a step of a model may change.
inline std::vector<Variable> variables_of(const Model& model) {
  std::vector<Variable> all = model.variables();
  const auto add = [&](const std::vector<Variable>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(model.optimizer().variables());
  for (const MetricPtr& metric : model.metrics()) add(metric->variables());
  return all;
}

/// The first variable that does not exist exactly once on each replica, or whose bits differ between replicas; empty if
/// there is none.
inline std::string differing_variable(const Model& model) {
  const int replicas = model.strategy()->num_replicas_in_sync();
  for (const Variable& variable : variables_of(model)) {
    if (variable.replicas() != replicas) return variable.name() + " on " + std::to_string(variable.replicas());
    const Tensor first = variable.value();
    for (int replica = 1; replica < replicas; ++replica)
      if (std::memcmp(first.raw(), variable.value(replica).raw(), first.bytes()) != 0) return variable.name();
  }
  return {};
}

/// Checks them after every step, and keeps the first that differs.
class Comparison : public Callback {
 public:
  std::string differing;
  int steps = 0;
  void on_train_batch_end(std::int64_t, Logs&) override {
    ++steps;
    if (differing.empty()) differing = differing_variable(model());
  }
};

/// The largest difference, relative for numbers beyond 1; infinite for different sizes.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i]));
    largest = difference <= largest ? largest : difference;  // NaN propagates
  }
  return largest;
}

}  // namespace etude::samples
