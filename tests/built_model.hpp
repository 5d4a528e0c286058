#pragma once

#include <algorithm>
#include <vector>

#include "support.hpp"
#include "training_samples.hpp"

namespace etude::testing {

/// A model of two dense layers with weights.
struct Built : Sequential {
  Built() : Sequential(samples::two_dense()) { build({-1, 6}); }
};

/// Whether both models have the same weights.
inline bool alike(const Model& a, const Model& b) {
  const std::vector<Tensor> first = a.get_weights(), second = b.get_weights();
  return std::ranges::equal(first, second, same_bits);
}

}  // namespace etude::testing
