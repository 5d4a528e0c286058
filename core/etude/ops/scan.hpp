#pragma once

#include <functional>
#include <span>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// What one step of a loop makes: the Values it hands on, and those that are kept of every step.
struct ScanStep {
  std::vector<Value> carry, outputs;
};
/// What a loop makes: the Values that the last step handed on, and each output of all steps, stacked [steps, ..] in the
/// order of the sequences' entries.
struct ScanResult {
  std::vector<Value> carry, outputs;
};
using ScanFunction = std::function<ScanStep(std::span<const Value> carry, std::span<const Value> inputs,
                                            std::span<const Value> constants)>;

/// A loop over the first axis of `sequences` [steps, ..], which all have: `step` is traced once, whatever the number of
/// steps, and the compiled body runs for each. With `reverse` it goes from the last entry to the first. Everything that
/// the step reads is passed to it: Values of the outer trace, and variables, go with `constants`. Throws Error(shape)
/// without sequences, for sequences of different lengths or none, and when `carry` changes its shape or dtype;
/// Error(state) when the step reads or assigns a variable. Source: jax.lax.scan.
ScanResult scan(const ScanFunction& step, const std::vector<Value>& carry, const std::vector<Value>& sequences,
                const std::vector<Value>& constants = {}, bool reverse = false);

}  // namespace etude::ops
