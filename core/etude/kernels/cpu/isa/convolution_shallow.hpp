#pragma once

#include "etude/kernels/cpu/isa/convolution_parts.hpp"

// The gradient of a kernel with few inputs, such as 3 · 3 of one channel, through max pooling: all its rows are summed
// in registers. dy is unpooled in registers too, one register of filters at a time.

namespace etude::cpu::ETUDE_ISA {

/// Rows of dkernel that fit in registers beside a register of dy, its index and an element of x.
inline constexpr Index shallow_rows = registers > 16 ? 16 : registers - 5;

template <class T> struct ShallowArguments {
  const T* x;           // the input of the first window's first cell
  const Index* cells;   // elements from there to each row of dkernel's
  Index rows, columns;  // windows
  Index pool_height, pool_width;
  Index window_row, window_column, cell_row, cell_column;  // distances in x
  const T* dy;                                             // of the first window, these filters
  const std::uint8_t* index;
  Index distance;  // from window to window, in dy
  T* out;
  Index out_row;
  bool add;
};

/// out[r] (+)= the sum over y's pixels, row by row, of x · dy.
template <class T, int Rows> [[gnu::noinline]] void add_shallow(const ShallowArguments<T>& t) {
  Vec<T> sum[Rows];
  unroll<Rows>([&](auto r) { sum[r] = t.add ? load(t.out + r * t.out_row) : broadcast(T(0)); });
  const Index columns = t.columns, pool_width = t.pool_width, distance = t.distance;
  for (Index p = 0; p < t.rows; ++p)
    for (Index i = 0; i < t.pool_height; ++i) {
      const T* row = t.x + p * t.window_row + i * t.cell_row;
      const T* a[Rows];
      unroll<Rows>([&](auto r) { a[r] = row + t.cells[r]; });
      const T* dy = t.dy + p * columns * distance;
      const std::uint8_t* index = t.index + p * columns * distance;
      const Vec<T> first = broadcast(static_cast<T>(i * pool_width)), zero = broadcast(T(0));
      Index x = 0;
      for (Index q = 0; q < columns; ++q, dy += distance, index += distance, x += t.window_column) {
        const Vec<T> value = load(dy);
        Vec<T> name = load_bytes<T>(index) - first;
        Index at = x;
        for (Index j = 0; j < pool_width; ++j, at += t.cell_column, name -= broadcast(T(1))) {
          const Vec<T> here = xsimd::select(name == zero, value, zero);
          unroll<Rows>([&](auto r) { sum[r] = madd(broadcast(a[r][at]), here, sum[r]); });
        }
      }
    }
  unroll<Rows>([&](auto r) { store(t.out + r * t.out_row, sum[r]); });
}

template <class T> inline constexpr auto shallow_kernels =
    table<static_cast<int>(shallow_rows)>([]<int Rows> { return &add_shallow<T, Rows>; });

/// Each element of x is loaded for only one register of filters. With fewer registers the sums spill, and the matrix
/// product is faster.
inline constexpr bool shallow_pays = registers >= 16;

}  // namespace etude::cpu::ETUDE_ISA
