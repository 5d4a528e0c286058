#pragma once

#include "etude/kernels/cpu/convolution_kernels.hpp"

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

/// A kernel of one method, and the function that computes its workspace; null for a method without functions of its
/// own.
template <class T> struct MethodKernel {
  void (*run)(const ConvolutionArguments<T>&, const Workers&) = nullptr;
  std::int64_t (*workspace)(const ConvolutionArguments<T>&, int workers) = nullptr;
};

}  // namespace etude::cpu::ETUDE_ISA
