#pragma once

#include <string>

#include "etude/execution/instruction.hpp"

/// Elementwise programs as source: the same steps that the processor runs tile by tile, as one kernel that keeps every
/// element in registers from its loads to its stores.
namespace etude::cuda {

/// What a program is called with: how many elements, or rows where it looks at rows, and where operands lie, first all
/// inputs and then all outputs.
struct ProgramArguments {
  static constexpr std::size_t most = 480;  ///< A kernel's arguments may take 4 KB.
  std::int64_t count;
  std::byte* operands[most];

  static std::size_t bytes(std::size_t operands) { return sizeof(std::int64_t) + operands * sizeof(std::byte*); }
};

/// The text of `program`, an ENTRY of that name, for segments that are read and written as this one is. It stands
/// behind what the runtime defines (cuda/program_prelude.cuh).
std::string program_source(const instruction::Program& program, const instruction::Segment& segment);

/// Threads of a block, whatever the program.
inline constexpr unsigned program_threads = 256;
/// How many blocks a segment wants.
std::int64_t program_blocks(const instruction::Program& program, const instruction::Segment& segment);

}  // namespace etude::cuda
