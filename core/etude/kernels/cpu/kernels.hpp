#pragma once

#include <cstdint>
#include <span>

#include "etude/execution/instruction.hpp"
#include "etude/kernels/cpu/convolution_kernels.hpp"
#include "etude/kernels/cpu/gemm.hpp"

namespace etude::cpu {

/// One step of a program over `n` elements: out = f(a, b, c). Operands that f does not have are ignored.
using ElementwiseKernel = void (*)(void* out, const void* a, const void* b, const void* c, std::int64_t n);

/// The kernels of one float type. Matrices are row-major and contiguous.
template <class T> struct FloatKernels {
  TileShape tile;
  void (*gemm)(const GemmArguments<T>&, const Workers&);
  std::int64_t (*gemm_workspace)(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count, int workers);
  void (*convolve)(const ConvolutionArguments<T>&, const Workers&);
  void (*convolve_input)(const ConvolutionArguments<T>&, const Workers&);
  void (*convolve_filter)(const ConvolutionArguments<T>&, const Workers&);
  std::int64_t (*convolve_workspace)(const ConvolutionArguments<T>&, int workers);
  std::int64_t (*convolve_input_workspace)(const ConvolutionArguments<T>&, int workers);
  std::int64_t (*convolve_filter_workspace)(const ConvolutionArguments<T>&, int workers);
  void (*max_pool)(const PoolArguments<T>&, std::ptrdiff_t begin, std::ptrdiff_t end);
  /// in [count, inner] -> out columns [begin, end): the sum, or the largest element, of each column, from the first row
  /// to the last.
  void (*sum_columns)(const T* in, std::int64_t count, std::int64_t inner, std::int64_t begin, std::int64_t end,
                      T* out);
  void (*max_columns)(const T* in, std::int64_t count, std::int64_t inner, std::int64_t begin, std::int64_t end,
                      T* out);
  /// The sum, or the largest, of count adjacent elements, in an order that depends only on count.
  T (*sum)(const T* in, std::int64_t count);
  T (*max)(const T* in, std::int64_t count);
  /// in [rows, count] -> out [rows]: the sum, or the largest, of each row, in an order that depends only on count.
  void (*sum_rows)(const T* in, std::int64_t rows, std::int64_t count, T* out);
  void (*max_rows)(const T* in, std::int64_t rows, std::int64_t count, T* out);
  /// in [rows] -> out [rows, count]: each element repeated, with any bit pattern.
  void (*spread)(const T* in, std::int64_t rows, std::int64_t count, T* out);
  /// out[c · out_row + r] = in[r · in_row + c] for r < rows, c < columns, with any bit patterns.
  void (*transpose)(const T* in, std::int64_t in_row, T* out, std::int64_t out_row, std::int64_t rows,
                    std::int64_t columns);
  void (*softmax)(const T* in, std::int64_t rows, std::int64_t count, T* out);
  void (*crossentropy)(const T* logits, const T* targets, std::int64_t rows, std::int64_t count, T* losses);
  void (*sparse_crossentropy)(const T* logits, const std::int32_t* labels, std::int64_t rows, std::int64_t count,
                              T* losses);
};

/// The kernels of type T in a table.
template <class T> const FloatKernels<T>& float_kernels(const struct Kernels& kernels);

/// The kernels of one instruction set. The build contains one table for each of its sets; the processor determines
/// which is used.
struct Kernels {
  const char* isa;
  FloatKernels<float> float32;
  FloatKernels<double> float64;
  /// By lane and opcode; null where a function is not defined for a type.
  ElementwiseKernel elementwise[3][instruction::opcode_count];
};

template <> inline const FloatKernels<float>& float_kernels(const Kernels& kernels) { return kernels.float32; }
template <> inline const FloatKernels<double>& float_kernels(const Kernels& kernels) { return kernels.float64; }

/// The tables of this build that this processor can run, the best first.
std::span<const Kernels> available_kernels();

}  // namespace etude::cpu

#ifdef ETUDE_ISA
namespace etude::cpu::ETUDE_ISA {

void fill_elementwise(ElementwiseKernel (&table)[3][instruction::opcode_count]);
template <class T> void fill_reductions(FloatKernels<T>& kernels);
template <class T> void fill_rows(FloatKernels<T>& kernels);

}  // namespace etude::cpu::ETUDE_ISA
#endif
