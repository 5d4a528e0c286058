#pragma once

#include <string>

#include "etude/execution/plan.hpp"

namespace etude {

/// A plan as text. Each instruction has a line, in order, with its sizes, the method that the device chooses for it,
/// the elementwise steps that are fused into it, the kernels that the device launches for it, and its cost. Loops
/// include their bodies. The totals follow, the least bytes that any plan of the step moves, and the plan's memory.
std::string explain(const Plan& plan);

/// An instruction as in explain(), without its cost: "Gemm 50×32×8, then Add, Relu".
std::string text_of(const Instruction& instruction, const Device& device);

}  // namespace etude
