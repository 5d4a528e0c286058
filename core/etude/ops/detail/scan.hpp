#pragma once

#include <functional>
#include <span>
#include <vector>

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// The results of one step of a loop: the next carried Values, and the outputs of this step.
struct ScanStep {
  std::vector<Value> carry, outputs;
};
/// The results of a loop: the final carried Values, and each output of all steps, stacked [steps, ..] in the order of
/// the sequences' entries.
struct ScanResult {
  std::vector<Value> carry, outputs;
};
using ScanFunction = std::function<ScanStep(std::span<const Value> carry, std::span<const Value> inputs)>;

/// A loop over the first axis of `sequences` [steps, ..]: `step` is traced once, for any number of steps, and the
/// compiled body runs for each. With `reverse` it runs from the last entry to the first. The step may use any Value of
/// the surrounding trace, and read variables, which have their values before the loop. Throws Error(shape) without
/// sequences, for sequences of different lengths or none, and if `carry` changes its shape or dtype; Error(state) if
/// the step assigns a variable, as random draws do, adds a loss or all-reduces. Source: jax.lax.scan.
ScanResult scan(const ScanFunction& step, const std::vector<Value>& carry, const std::vector<Value>& sequences,
                bool reverse = false);

}  // namespace etude::ops
