#pragma once

#include "cuda/runtime.hpp"
#include "etude/execution/instruction.hpp"

// Convolutions with one channel per group. A thread multiplies so few numbers that a product's tiles would be nearly
// empty.

namespace etude::cuda {

/// Whether it is such a convolution, with several groups.
bool is_depthwise(const instruction::ConvolutionShape& shape);
/// The workspace of the filter's gradient, in bytes.
std::size_t depthwise_filter_bytes(const instruction::ConvolutionShape& shape, DType dtype);

/// All tensors are stored as `dtype`.
void depthwise(Runtime& runtime, const instruction::ConvolutionShape& shape, DType dtype, const std::byte* x,
               const std::byte* kernel, std::byte* out);
void depthwise_input(Runtime& runtime, const instruction::ConvolutionShape& shape, DType dtype, const std::byte* dy,
                     const std::byte* kernel, std::byte* out);
void depthwise_filter(Runtime& runtime, const instruction::ConvolutionShape& shape, DType dtype, const std::byte* x,
                      const std::byte* dy, std::byte* out, std::byte* workspace);

}  // namespace etude::cuda
