#pragma once

#include "etude/kernels/cpu/convolution.hpp"

namespace etude::cpu::ETUDE_ISA {

/// convolve of a kernel of 3 · 3 cells at strides and dilations of 1, in one group; pooled, if at all, by windows of
/// 2 · 2 that begin in y's corner.
template <class T> void convolve_winograd(const ConvolutionArguments<T>& arguments, const Workers& workers);
template <class T> std::int64_t convolve_winograd_workspace(const ConvolutionArguments<T>& arguments, int workers);

}  // namespace etude::cpu::ETUDE_ISA
