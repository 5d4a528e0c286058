#pragma once

#include <cstddef>
#include <cstdint>

#include "etude/base/dtype.hpp"
#include "etude/execution/instruction.hpp"

namespace etude::cuda {

/// The result: y of x and the kernel, x's gradient of y's and the kernel, or the kernel's gradient of x and y's.
enum class ConvolutionPass : std::uint8_t { forward, input, filter };

constexpr const char* name_of(ConvolutionPass pass) {
  return pass == ConvolutionPass::forward ? "convolution"
         : pass == ConvolutionPass::input ? "gradient of a convolution's input"
                                          : "gradient of a convolution's kernel";
}

/// A convolution, or a gradient of one, by the library of a GPU's vendor. All three are stored as `dtype`; half
/// precision is summed in float32. The kernel is stored as [filters, *window.extent, channels / groups].
struct VendorConvolution {
  ConvolutionPass pass;
  instruction::ConvolutionShape shape;
  DType dtype;
  std::byte *x, *kernel, *y;  ///< of which one is written, and aligned to 16 bytes
  std::byte* workspace;       ///< of the size that the runtime requests
};

/// Whether a vendor's library may compute it: not float64, no tensor of 2³¹ elements or more, and equal padding on both
/// sides, as far as a window reads it.
bool vendor_may_convolve(const instruction::ConvolutionShape& shape, DType dtype);

}  // namespace etude::cuda
