#pragma once

#include <cstddef>
#include <string>

#include "cuda/program_arguments.hpp"
#include "etude/execution/instruction.hpp"

/// Elementwise programs as source: the steps that the CPU runs tile by tile, as one kernel that keeps every
/// element in registers from its loads to its stores.
namespace etude::cuda {

/// The text of `program`, an ENTRY of that name, for up to `segments` segments that are like this one. It follows the
/// runtime's definitions (cuda/program_prelude.cuh).
std::string program_source(const instruction::Program& program, const instruction::Segment& segment,
                           std::size_t segments, const ProductInput* product = nullptr);

}  // namespace etude::cuda
