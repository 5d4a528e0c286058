#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/program_source.hpp"
#include "cuda/runtime.hpp"
#include "etude/execution/instruction.hpp"

// The prepared data of instructions that become programs, for class Cuda.

namespace etude::cuda {

/// A text, and the pointer to set to its program.
struct WantedProgram {
  std::string source;
  const CompiledProgram** program;
};

/// The launches of an elementwise instruction. Consecutive segments that are alike form one launch, up to the size of
/// its arguments.
struct ElementwiseLaunches : instruction::Prepared {
  struct Launch {
    std::size_t segments;
    const CompiledProgram* program = nullptr;
  };
  std::vector<Launch> launches;
};

/// A product that a program computes, with the program's further steps on its elements.
struct ProductLaunch : instruction::Prepared {
  instruction::Elementwise then;
  ProductInput product;
  const CompiledProgram* program = nullptr;
};

}  // namespace etude::cuda
