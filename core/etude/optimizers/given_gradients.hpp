#pragma once

#include <vector>

#include "etude/graph/graph.hpp"

namespace etude {

class Optimizer;

/// While it exists, optimizers that are applied on this thread update nothing. It collects their gradients, for another
/// process that updates the variables.
class GivenGradients {
 public:
  /// A variable and its gradient, as an optimizer got them.
  struct Entry {
    /// The optimizer.
    const Optimizer* optimizer;
    /// A variable.
    Variable variable;
    /// Its gradient.
    Value gradient;
  };

  /// Begins to collect.
  GivenGradients();
  ~GivenGradients();
  GivenGradients(const GivenGradients&) = delete;
  GivenGradients& operator=(const GivenGradients&) = delete;

  /// That of this thread, or null.
  static GivenGradients* current();

  /// The collected gradients.
  std::vector<Entry> entries = {};

 private:
  GivenGradients* outer_;
};

}  // namespace etude
