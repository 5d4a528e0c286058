#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support.hpp"

namespace etude::testing {

/// A step of random ops on random shapes, dtypes and variables, with typical parts: broadcasts, reductions, products,
/// gradients, assignments, logs. Equal seeds give equal steps; a step of fewer ops is the prefix of a longer one.
class RandomStep {
 public:
  RandomStep(std::uint64_t seed, int ops);

  /// Returns another batch at each call.
  std::vector<Tensor> batch();
  /// New variables with the same initial values at each call; every other seed has them in one flat block.
  std::vector<Variable> variables() const;
  /// Appends the step to `graph`, always in the same way.
  Compiled::Outcome trace(Graph& graph, std::span<const Value> inputs, const std::vector<Variable>& variables) const;

 private:
  std::uint64_t seed_;
  int ops_;
  Random batches_;
  std::vector<Shape> shapes_;
  std::vector<std::pair<Shape, DType>> inputs_;
  std::vector<Tensor> values_;
};

/// A graph as text, one node per line, for the report of a failure.
std::string listing(const Graph& graph);

}  // namespace etude::testing
