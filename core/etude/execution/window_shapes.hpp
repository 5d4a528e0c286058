#pragma once

#include "etude/execution/instruction.hpp"
#include "etude/graph/graph.hpp"

/// The sizes of instructions on windows.
namespace etude {

inline instruction::ConvolutionShape convolution_shape(const Window& window, const Shape& x, const Shape& kernel) {
  return {window,          x[0], x[1], x[2], x[3], window.outputs(0, x[1]), window.outputs(1, x[2]), kernel[3],
          x[3] / kernel[2]};
}

inline instruction::Pooling pooling_of(const Window& window, const Shape& x) {
  return {window, x[0], x[1], x[2], x[3], window.outputs(0, x[1]), window.outputs(1, x[2])};
}

}  // namespace etude
