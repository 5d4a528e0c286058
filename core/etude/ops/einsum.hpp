#pragma once

#include <string>
#include <string_view>

#include "etude/graph/graph.hpp"

namespace etude {

/// An equation of two operands, such as "abc,cd->abd": the names of the axes of each. "..." stands for axes without
/// names, in an operand and in the result.
struct EinsumEquation {
  /// Of the first operand, of the second, and of the result.
  std::string a, b, out;
};

/// Reads an equation. Throws Error(value) for a text that is none, for an axis that an operand has twice, and for one
/// of the result that no operand has. `where` names the caller.
EinsumEquation einsum_equation(std::string_view equation, std::string_view where);

namespace ops {

/// Products of the elements of a and b, summed over the axes that the result does not have: "ij,jk->ik" is a product of
/// matrices. Throws Error(value) as einsum_equation, Error(shape) for other ranks and for axes of different extents.
Value einsum(std::string_view equation, Value a, Value b);

}  // namespace ops
}  // namespace etude
