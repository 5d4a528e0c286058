#pragma once

#include <string>
#include <vector>

#include "etude/base/logs.hpp"
#include "etude/optimizers/optimizer.hpp"

namespace etude {

/// An optimizer with a learning rate of its own.
struct RatedOptimizer {
  Optimizer* optimizer;
  /// Its name, if there are several. A name that occurs again has a number: "SGD", "SGD_1".
  std::string name;
  /// Names the rate in messages: "learning rate", "SGD learning rate".
  std::string rate_in_words() const { return name.empty() ? "learning rate" : name + " learning rate"; }
};

/// The optimizers of a MultiOptimizer, or the optimizer itself.
std::vector<RatedOptimizer> rated_optimizers(Optimizer& optimizer);
/// Logs the rate as "learning_rate"; the rates of several optimizers as "learning_rate_SGD" and similar.
void log_learning_rates(Optimizer& optimizer, Logs& logs);

}  // namespace etude
