#pragma once

#include <functional>
#include <string_view>

#include "cuda/cuda.hpp"
#include "cuda/vendor_convolution.hpp"

// The choice between our convolutions and those of a GPU's vendor.

namespace etude::cuda {

/// The operands of a convolution, or of a gradient of one, after unpooling: the kernel is stored as [*window.extent,
/// channels / groups, filters].
struct ConvolutionOperands {
  ConvolutionPass pass;
  const instruction::ConvolutionShape& shape;
  Operand x, kernel, y, workspace;
};

/// The workspace that the vendor's convolution needs, in bytes; 0 if the vendor computes none.
std::size_t vendor_workspace(const Runtime& runtime, const instruction::ConvolutionShape& shape, DType dtype);

/// The method's name for Device::method: empty for our own kernels.
std::string_view vendor_method(Runtime& runtime, ConvolutionPass pass, const instruction::ConvolutionShape& shape,
                               DType dtype);

/// Enqueues it in the fastest measured way: by `ours`, or by the vendor. By `ours` if nothing was measured.
void convolve_fastest(Cuda& device, const ConvolutionOperands& operands, Addresses addresses,
                      const std::function<void()>& ours);

}  // namespace etude::cuda
