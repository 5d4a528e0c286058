#pragma once

#include "etude/execution/plan.hpp"

namespace etude {

/// The cost of one run of an instruction: floating-point operations, and bytes read and written if no cache holds any
/// of them.
struct Cost {
  double operations = 0, bytes = 0;
};
Cost cost_of(const Instruction& instruction);

/// The cost of one step of a plan. `least_bytes`: the bytes that every plan of this step has to read and write, which
/// are those of the batch and of the variables that it reads, and of the variables that it assigns, each once. What a
/// plan moves besides are intermediate results.
struct StepCost {
  Cost sum;
  double least_bytes = 0;
};
StepCost cost_of(const Plan& plan);

}  // namespace etude
