#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "etude/layers/layers.hpp"
#include "support.hpp"

/// The recurrent layers, and their definitions in plain loops.
namespace etude::testing {

using Vector = std::vector<double>;

/// The options of a layer of any kind in tests.
struct Wish {
  std::int64_t units = 3;
  bool use_bias = true;
  double dropout = 0, recurrent_dropout = 0;
  std::optional<std::int64_t> seed = {};
  bool return_sequences = false, return_state = false, go_backwards = false, stateful = false,
       zero_output_for_mask = false;
};

/// A layer in float64 with random biases, and its definition: the next state of one sample, h first, from its inputs
/// [features] and get_weights().
struct Kind {
  const char* name;
  std::size_t states;
  std::function<std::shared_ptr<Recurrent>(const Wish&)> make;
  std::function<void(std::vector<Vector>& state, const Vector& x, const std::vector<Tensor>& weights)> step;
};

const std::vector<Kind>& kinds();

/// The outputs [batch, steps, units] of a layer by its definition, in the order of the steps.
Tensor reference(const Kind& kind, const std::vector<Tensor>& weights, const Tensor& x, bool backwards = false);

}  // namespace etude::testing
