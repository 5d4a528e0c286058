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

/// Elements from one entry of each axis to the next, in a tensor of this shape.
Shape strides(const Shape& shape);
/// How elements that lie so are read, without their operand.
instruction::Access strided_access(const Shape& extents, const Shape& strides);
/// How the elements of a tensor of shape `from` are read as one broadcast to `to`.
instruction::Access broadcast_access(const Shape& from, const Shape& to);

}  // namespace etude
