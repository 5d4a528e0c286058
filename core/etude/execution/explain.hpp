#pragma once

#include <string>

#include "etude/execution/plan.hpp"

namespace etude {

/// The cost of one run of an instruction: floating-point operations, and bytes read and written if no cache holds any
/// of them.
struct Cost {
  double operations = 0, bytes = 0;
};
Cost cost_of(const Instruction& instruction);

/// A plan as text. Each instruction has a line, in order, with its sizes, the method that the device chooses for it,
/// the elementwise steps that are fused into it, and its cost. Loops include their bodies. The totals and the memory of
/// the plan follow.
std::string explain(const Plan& plan);

}  // namespace etude
