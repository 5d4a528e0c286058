#pragma once

#include "etude/kernels/cpu/convolution_kernels.hpp"

namespace etude::cpu::ETUDE_ISA {

/// convolve for kernels of 3 · 3 with strides and dilations of 1, in one group; a pooling has windows of 2 · 2 that
/// begin in y's corner.
template <class T> void convolve_winograd(const ConvolutionArguments<T>& arguments, const Workers& workers);
template <class T> std::int64_t convolve_winograd_workspace(const ConvolutionArguments<T>& arguments, int workers);

}  // namespace etude::cpu::ETUDE_ISA
