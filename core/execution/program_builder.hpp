#pragma once

#include <vector>

#include "etude/execution/fusion.hpp"
#include "etude/execution/instruction.hpp"

namespace etude {

/// A group's program before memory is laid out: what it reads and writes are nodes.
struct VirtualProgram {
  struct Input {
    NodeId source;
    instruction::Access access;  ///< without its operand
    std::int64_t offset = 0;     ///< elements of the source before the first that is read
    bool per_row = false;
  };
  instruction::Program program;
  std::vector<Input> inputs;
  std::vector<NodeId> outputs;
};

/// Translates a group's nodes, in order, to steps on registers; registers are used again when nobody needs what they
/// hold.
VirtualProgram build_program(const Fusion& fusion, const Group& group);

}  // namespace etude
