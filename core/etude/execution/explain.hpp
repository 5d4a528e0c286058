#pragma once

#include <string>

#include "etude/execution/plan.hpp"

namespace etude {

/// What an instruction does once: floating-point operations, and bytes that it reads and writes if none of them stays
/// in a cache.
struct Cost {
  double operations = 0, bytes = 0;
};
Cost cost_of(const Instruction& instruction);

/// A plan as text: a line for each instruction, in order, with its sizes, the method that the device takes for it, the
/// elementwise steps that are fused into it, and what it costs; loops with their bodies; then the sums, and the memory
/// that the plan lays out.
std::string explain(const Plan& plan);

}  // namespace etude
