#pragma once

#include "etude/execution/instruction.hpp"

/// Offsets of a tensor's elements in memory.
namespace etude {

/// The distance between entries of each axis, in elements, in a contiguous tensor of this shape.
Shape strides(const Shape& shape);
/// The access to elements with these extents and strides, without its operand.
instruction::Access strided_access(const Shape& extents, const Shape& strides);
/// The access to a tensor of shape `from` that broadcasts it to `to`.
instruction::Access broadcast_access(const Shape& from, const Shape& to);

}  // namespace etude
