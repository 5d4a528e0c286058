#pragma once

#include "etude/kernels/cpu/isa/convolution_parts.hpp"
#include "etude/kernels/cpu/isa/workspace.hpp"

// A gradient that comes through max pooling is 0 in all cells but one of each window, and after relu often in that one.
// Its products sum the nonzero terms only, pixel by pixel in the order of the dense products.

namespace etude::cpu::ETUDE_ISA {

/// The nonzero elements of an image's dy, pixel by pixel in the order of y's rows: pixel n (counted by window row p,
/// cell row i, window column q, cell column j) has `count[n]` filters, from filter + n · g.filters on.
template <class T> struct EntriesOfPixels {
  std::int32_t *count, *filter;

  EntriesOfPixels() = default;
  EntriesOfPixels(const ConvolutionArguments<T>& g, Workspace& workspace) {
    const Index pixels = g.pooled_rows * g.pooled_columns * g.pool_height * g.pool_width;
    count = workspace.allocate<std::int32_t>(pixels + 1);
    filter = workspace.allocate<std::int32_t>((pixels + 1) * g.filters);
  }

  void collect(const ConvolutionArguments<T>& g, const T* dy, const std::uint8_t* index) const {
    const Index pixels = g.pooled_rows * g.pooled_columns * g.pool_height * g.pool_width;
    Index number[257];  // of a cell's pixel; an index of no cell maps to one past the last pixel
    for (Index n = 0; n <= pixels; ++n) count[n] = 0;
    for (Index cell = 0; cell < 257; ++cell) number[cell] = pixels;
    for (Index p = 0; p < g.pooled_rows; ++p)
      for (Index q = 0; q < g.pooled_columns; ++q, dy += g.filters, index += g.filters) {
        for (Index i = 0; i < g.pool_height; ++i)
          for (Index j = 0; j < g.pool_width; ++j)
            number[i * g.pool_width + j] = ((p * g.pool_height + i) * g.pooled_columns + q) * g.pool_width + j;
        sort(dy, index, number, g.filters, filter, count);
        count[pixels] = 0;
      }
  }

  /// Assigns one window's filters to the pixels that its index names. A separate function, so that its pointers stay in
  /// registers.
  [[gnu::noinline]] static void sort(const T* dy, const std::uint8_t* index, const Index* number, Index filters,
                                     std::int32_t* filter, std::int32_t* count) {
    for (Index f = 0; f < filters; ++f) {
      const Index n = number[index[f]], at = count[n];
      filter[n * filters + at] = static_cast<std::int32_t>(f);
      count[n] = static_cast<std::int32_t>(at) + static_cast<std::int32_t>(dy[f] != T(0));
    }
  }

  /// Calls visit(row and column of y, the window's dy, filters, count) for each pixel that has any.
  template <class Visitor>
  [[gnu::always_inline]] void for_each(const ConvolutionArguments<T>& g, const T* dy, Visitor visit) const {
    Index n = 0;
    for (Index p = 0; p < g.pooled_rows; ++p)
      for (Index i = 0; i < g.pool_height; ++i)
        for (Index q = 0; q < g.pooled_columns; ++q)
          for (Index j = 0; j < g.pool_width; ++j, ++n) {
            const Index y = p * g.pool_stride_y - g.pool_before_y + i, x = q * g.pool_stride_x - g.pool_before_x + j;
            if (count[n] == 0 || y < 0 || y >= g.rows || x < 0 || x >= g.columns) continue;
            visit(y, x, dy + (p * g.pooled_columns + q) * g.filters, filter + n * g.filters, Index{count[n]});
          }
  }
};

/// The same by filters: filter f has `count[f]` pixels, in the order of y's rows, from f · most on. `offset` is the
/// distance from the image's first pixel to the first input of the pixel's window, `value` the pixel's gradient.
template <class T> struct EntriesOfFilters {
  Index most, *offset;
  std::int32_t* count;
  T* value;

  EntriesOfFilters() = default;
  EntriesOfFilters(const ConvolutionArguments<T>& g, Workspace& workspace)
      : most(g.pooled_rows * g.pooled_columns + 1),
        offset(workspace.allocate<Index>(most * g.filters)),
        count(workspace.allocate<std::int32_t>(g.filters)),
        value(workspace.allocate<T>(most * g.filters)) {}

  /// Collects filters [begin, end). `row` and `column` are the distances of neighbouring windows in the image.
  void collect(const ConvolutionArguments<T>& g, const T* dy, const std::uint8_t* index, Index begin, Index end,
               Index row, Index column) const {
    for (Index f = begin; f < end; ++f) count[f] = 0;
    for (Index p = 0; p < g.pooled_rows; ++p)
      for (Index i = 0; i < g.pool_height; ++i)
        for (Index q = 0; q < g.pooled_columns; ++q) {
          const Index y = p * g.pool_stride_y - g.pool_before_y + i, x = q * g.pool_stride_x - g.pool_before_x;
          if (y < 0 || y >= g.rows) continue;
          const Index at = (p * g.pooled_columns + q) * g.filters + begin, low = larger(-x, 0);
          append(dy + at, index + at, end - begin, i * g.pool_width + low, smaller(g.pool_width, g.columns - x) - low,
                 y * row + (x + low) * column, column, most, offset + begin * most, value + begin * most,
                 count + begin);
        }
  }

  /// Appends one window's entries among `cells` neighbouring cells from `first` on; the first lies at `base`.
  [[gnu::noinline]] static void append(const T* dy, const std::uint8_t* index, Index filters, Index first, Index cells,
                                       Index base, Index column, Index most, Index* offset, T* value,
                                       std::int32_t* count) {
    for (Index f = 0; f < filters; ++f, offset += most, value += most) {
      const auto cell = static_cast<std::size_t>(index[f] - first);
      const Index n = count[f];
      offset[n] = base + static_cast<Index>(cell) * column;
      value[n] = dy[f];
      const auto counts =
          static_cast<std::int32_t>(cell < static_cast<std::size_t>(cells)) & static_cast<std::int32_t>(dy[f] != T(0));
      count[f] = static_cast<std::int32_t>(n) + counts;
    }
  }
};

/// Registers of sums, beside the one that holds the factor.
inline constexpr int sparse_vectors = 12;

}  // namespace etude::cpu::ETUDE_ISA
