#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cuda/program_source.hpp"
#include "cuda/runtime.hpp"
#include "etude/execution/instruction.hpp"

// What class Cuda prepares of instructions that become programs.

namespace etude::cuda {

/// A text, and where its program is to be named.
struct WantedProgram {
  std::string source;
  const CompiledProgram** program;
};

/// An elementwise instruction's launches. Segments that are alike and follow each other are one launch, as many as its
/// arguments have room for.
struct ElementwiseLaunches : instruction::Prepared {
  struct Launch {
    std::size_t segments;
    const CompiledProgram* program = nullptr;
  };
  std::vector<Launch> launches;
};

/// A product that a program computes, and what the program then does with its elements.
struct ProductLaunch : instruction::Prepared {
  instruction::Elementwise then;
  ProductInput product;
  const CompiledProgram* program = nullptr;
};

}  // namespace etude::cuda
