#pragma once

#include "etude/kernels/cpu/convolution.hpp"

namespace etude::cpu::ETUDE_ISA {

/// convolve and its transposes for one input and one output channel per group, without pooling.
template <class T> void convolve_depthwise(const ConvolutionArguments<T>& arguments, const Workers& workers);
template <class T> void convolve_depthwise_input(const ConvolutionArguments<T>& arguments, const Workers& workers);
template <class T> void convolve_depthwise_filter(const ConvolutionArguments<T>& arguments, const Workers& workers);
template <class T>
std::int64_t convolve_depthwise_workspace(const ConvolutionArguments<T>& arguments, int workers);
template <class T>
std::int64_t convolve_depthwise_input_workspace(const ConvolutionArguments<T>& arguments, int workers);
template <class T>
std::int64_t convolve_depthwise_filter_workspace(const ConvolutionArguments<T>& arguments, int workers);

}  // namespace etude::cpu::ETUDE_ISA
