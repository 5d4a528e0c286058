#pragma once

#include <cstddef>
#include <cstdint>

#include "etude/kernels/cpu/gemm.hpp"

namespace etude::cpu {

/// How the gradient of a convolution reads dy. The first three add the same terms in the same order, except for zeros.
enum class GradientMethod : std::uint8_t {
  dense,         ///< every element, as a matrix product
  sparse,        ///< only the nonzero elements: a pooled gradient has at most one per window
  in_registers,  ///< for kernels with few inputs: all rows of the gradient are summed in registers
  depthwise,     ///< for one channel per group: registers of neighboring channels
};

/// The properties of the register tile on which the choice of a method depends.
struct TileShape {
  int lanes;  ///< elements of a register
  int rows;   ///< rows of a product that are summed in registers at a time
  int cells;  ///< rows of a kernel's gradient summed in registers, one register each; 0: too few registers
};

/// How a convolution is computed.
enum class ForwardMethod : std::uint8_t {
  in_registers,   ///< as a matrix product of few terms; each window is pooled in the registers that hold its sums
  implicit_gemm,  ///< as a matrix product whose left operand is gathered from the image
  winograd,       ///< F(2 × 2, 3 × 3): fewer multiplications, different rounding
  depthwise,      ///< for one channel per group: registers of neighboring channels
};

/// One convolution, or one of its transposes; everything is contiguous, T = float or double. The struct holds plain
/// numbers only: the kernels are compiled once per instruction set and must not share inline functions with other
/// files.
template <class T> struct ConvolutionArguments {
  /// x [batch, height, width, channels], y [batch, rows, columns, filters], kernel [kernel_height, kernel_width,
  /// channels / groups, filters]. Output (i, j) reads the inputs (i · stride_y - before_y + u · dilation_y, ..).
  std::ptrdiff_t batch, height, width, channels, rows, columns, filters, groups;
  std::ptrdiff_t kernel_height, kernel_width, stride_y, stride_x, dilation_y, dilation_x, before_y, before_x;
  /// Whether y is pooled by windows that do not overlap, to [batch, pooled_rows, pooled_columns, filters].
  bool pooled;
  std::ptrdiff_t pooled_rows, pooled_columns;
  std::ptrdiff_t pool_height, pool_width, pool_stride_y, pool_stride_x, pool_before_y, pool_before_x;
  ForwardMethod forward;
  GradientMethod gradient;

  const T *x, *kernel, *dy;
  /// The result: y (pooled or not), dx or dkernel.
  T* out;
  /// For each pooled element, the cell of its window: written by the convolution unless null, read by its transposes.
  std::uint8_t* index;
  /// At least as many bytes as the kernel's workspace function returns for workers.count, 64-byte aligned.
  void* workspace;
  /// The epilogue: called exactly once for every row of `out` [rows, last axis], in blocks [begin, end), on the thread
  /// that computed them, while they are in cache. May be null.
  void (*rows_done)(void* context, std::int64_t begin, std::int64_t end);
  void* context;
};

/// A separate max pooling: x [batch, height, width, channels], out and index [batch, rows, columns, channels].
template <class T> struct PoolArguments {
  std::ptrdiff_t batch, height, width, channels, rows, columns;
  std::ptrdiff_t pool_height, pool_width, stride_y, stride_x, before_y, before_x;
  const T* x;
  T* out;                      ///< may be null
  std::uint8_t* index_byte;    ///< may be null
  std::int32_t* index_number;  ///< may be null
};

}  // namespace etude::cpu

#ifdef ETUDE_ISA
namespace etude::cpu::ETUDE_ISA {

// Every element of a result is a sum whose order depends only on the shape: the bits are the same for any number of
// workers, and whether or not dy is pooled.
template <class T> void convolve(const ConvolutionArguments<T>& arguments, const Workers& workers);
template <class T> void convolve_input(const ConvolutionArguments<T>& arguments, const Workers& workers);
template <class T> void convolve_filter(const ConvolutionArguments<T>& arguments, const Workers& workers);
/// The bytes of workspace they need.
template <class T> std::int64_t convolve_workspace(const ConvolutionArguments<T>& arguments, int workers);
template <class T> std::int64_t convolve_input_workspace(const ConvolutionArguments<T>& arguments, int workers);
template <class T> std::int64_t convolve_filter_workspace(const ConvolutionArguments<T>& arguments, int workers);

/// Computes rows [begin, end) of the batch · rows rows.
template <class T> void max_pool(const PoolArguments<T>& arguments, std::ptrdiff_t begin, std::ptrdiff_t end);

}  // namespace etude::cpu::ETUDE_ISA
#endif
