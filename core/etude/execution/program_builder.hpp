#pragma once

#include <optional>
#include <vector>

#include "etude/execution/instruction.hpp"
#include "etude/execution/recompute.hpp"

namespace etude {

/// A group's program before memory is laid out: it reads and writes nodes.
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

/// Translates a group's nodes, in order, to steps on registers. A register is reused when its value is not read any
/// more.
VirtualProgram build_program(const Fused& fused, const Group& group);

/// The program of each group; empty where a group has no members.
using Programs = IdVector<std::optional<VirtualProgram>>;
Programs build_programs(const Fused& fused);

}  // namespace etude
