#pragma once

/// Calls of et.ops and et.activations on SymbolicTensors, which add an op to a functional model.
#include "bind.hpp"

namespace etude::js {

/// Whether it is a call of such a function outside a step, with a SymbolicTensor among its arguments.
bool is_symbolic(std::string_view text, std::span<const val* const> given);
/// Adds the op to the graph, and returns its SymbolicTensors. Within a step, `work` is called with the same arguments,
/// with Values in place of SymbolicTensors and of Tensors, which are constants.
val add_op(Work work, const char* text, std::span<const val* const> given);

}  // namespace etude::js
