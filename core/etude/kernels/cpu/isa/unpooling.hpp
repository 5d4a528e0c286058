#pragma once

#include "etude/kernels/cpu/isa/convolution_parts.hpp"

namespace etude::cpu::ETUDE_ISA {

/// Zeroes the cells of y outside all windows: its last rows and columns, or all of y where windows are not adjacent.
template <class T>
inline void clear_uncovered(const ConvolutionArguments<T>& g, Index count, T* out, Index distance) {
  const bool touch = g.pool_before_y == 0 && g.pool_before_x == 0 && g.pool_stride_y == g.pool_height &&
                     g.pool_stride_x == g.pool_width;
  const Index covered_rows = touch ? smaller(g.pooled_rows * g.pool_height, g.rows) : 0,
              covered_columns = touch ? smaller(g.pooled_columns * g.pool_width, g.columns) : 0;
  for (Index i = 0; i < g.rows; ++i)
    for (Index j = i < covered_rows ? covered_columns : 0; j < g.columns; ++j)
      zero_elements(out + (i * g.columns + j) * distance, count);
}

/// Unpools one window's dy over its cells: cell (i, j), low <= (i, j) < high, lies at out + i · row + j · distance and
/// has the index i · width + j.
template <class T>
[[gnu::noinline]] inline void unpool_cells(const T* dy, const std::uint8_t* index, Index count, Index low_y,
                                           Index high_y, Index low_x, Index high_x, Index width, T* out, Index row,
                                           Index distance) {
  Index f = 0;
  for (; f + lanes<T> <= count; f += lanes<T>) {
    const Vec<T> value = load(dy + f), name = load_bytes<T>(index + f), zero = broadcast(T(0));
    for (Index i = low_y; i < high_y; ++i)
      for (Index j = low_x; j < high_x; ++j)
        store(out + i * row + j * distance + f,
              xsimd::select(name == broadcast(static_cast<T>(i * width + j)), value, zero));
  }
  for (; f < count; ++f)
    for (Index i = low_y; i < high_y; ++i)
      for (Index j = low_x; j < high_x; ++j) out[i * row + j * distance + f] = index[f] == i * width + j ? dy[f] : T(0);
}

/// Unpools an image's dy over y: filters [begin, end) of pixel n go to out + n · distance.
template <class T>
[[gnu::noinline]] inline void unpool(const ConvolutionArguments<T>& g, Index image, Index begin, Index end, T* out,
                                     Index distance) {
  clear_uncovered(g, end - begin, out, distance);
  Index at = image * g.pooled_rows * g.pooled_columns * g.filters + begin;
  for (Index p = 0; p < g.pooled_rows; ++p)
    for (Index q = 0; q < g.pooled_columns; ++q, at += g.filters) {
      const Index y = p * g.pool_stride_y - g.pool_before_y, x = q * g.pool_stride_x - g.pool_before_x;
      unpool_cells(g.dy + at, g.index + at, end - begin, larger(-y, 0), smaller(g.pool_height, g.rows - y),
                   larger(-x, 0), smaller(g.pool_width, g.columns - x), g.pool_width,
                   out + (y * g.columns + x) * distance, g.columns * distance, distance);
    }
}

}  // namespace etude::cpu::ETUDE_ISA
