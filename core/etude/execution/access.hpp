#pragma once

#include "etude/execution/instruction.hpp"

/// How the elements of a tensor are found in memory.
namespace etude {

/// Elements from one entry of each axis to the next, in a tensor of this shape.
Shape strides(const Shape& shape);
/// How elements that lie so are read, without their operand.
instruction::Access strided_access(const Shape& extents, const Shape& strides);
/// How the elements of a tensor of shape `from` are read as one broadcast to `to`.
instruction::Access broadcast_access(const Shape& from, const Shape& to);

}  // namespace etude
