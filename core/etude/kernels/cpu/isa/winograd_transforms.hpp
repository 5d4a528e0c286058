#pragma once

#include "etude/kernels/cpu/isa/gemm_tile.hpp"

// The transforms of F(2 × 2, 3 × 3), a register of channels or filters at a time. A. Lavin and S. Gray, "Fast
// Algorithms for Convolutional Neural Networks", 2016: Y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A.

namespace etude::cpu::ETUDE_ISA::winograd {

inline constexpr Index tile_in = 4, tile_out = 2, kernel_extent = 3, products = tile_in * tile_in;

/// Sixteen numbers: (y, x) at data + y · row + x · column.
template <class T> struct Square {
  const T* data;
  Index row, column;
};

/// to[(4 y + x) · distance] = (Bᵀ d B)(y, x). `count`: the elements of the register that exist.
template <class T>
[[gnu::always_inline]] inline void transform_input(const Square<T>& d, Index count, T* to, Index distance) {
  const bool whole = count >= lanes<T>;
  const auto line = [&](Index y, Vec<T>(&r)[tile_in]) __attribute__((always_inline)) {
    const T* at = d.data + y * d.row;
    Vec<T> x[tile_in];
    unroll<4>([&](auto i) { x[i] = whole ? load(at + i * d.column) : load_first(at + i * d.column, count); });
    r[0] = x[0] - x[2];
    r[1] = x[1] + x[2];
    r[2] = x[2] - x[1];
    r[3] = x[1] - x[3];
  };
  const auto put = [&](auto y, auto i, Vec<T> value)
                       __attribute__((always_inline)) { store(to + (4 * y + i) * distance, value); };
  Vec<T> r0[tile_in], r1[tile_in], r2[tile_in], r3[tile_in];
  line(0, r0);
  line(2, r2);
  unroll<4>([&](auto i) { put(0, i, r0[i] - r2[i]); });
  line(1, r1);
  unroll<4>([&](auto i) { put(1, i, r1[i] + r2[i]); });
  unroll<4>([&](auto i) { put(2, i, r2[i] - r1[i]); });
  line(3, r3);
  unroll<4>([&](auto i) { put(3, i, r1[i] - r3[i]); });
}

/// to[(4 y + x) · distance] = (G g Gᵀ)(y, x), of a kernel's cells g.
template <class T>
[[gnu::always_inline]] inline void transform_filter(const Square<T>& g, Index count, T* to, Index distance) {
  const Vec<T> half = broadcast(T(0.5));
  const auto spread = [&](Vec<T> a, Vec<T> b, Vec<T> c, Vec<T>(&r)[tile_in]) __attribute__((always_inline)) {
    const Vec<T> ends = (a + c) * half, middle = b * half;
    r[0] = a;
    r[1] = ends + middle;
    r[2] = ends - middle;
    r[3] = c;
  };
  Vec<T> line[kernel_extent][tile_in];
  for (Index x = 0; x < kernel_extent; ++x) {
    const auto cell = [&](Index y) __attribute__((always_inline)) {
      return load_first(g.data + y * g.row + x * g.column, smaller(count, lanes<T>));
    };
    spread(cell(0), cell(1), cell(2), line[x]);
  }
  for (Index y = 0; y < tile_in; ++y) {
    Vec<T> r[tile_in];
    spread(line[0][y], line[1][y], line[2][y], r);
    for (Index x = 0; x < tile_in; ++x) store(to + (4 * y + x) * distance, r[x]);
  }
}

/// y[2 i + j] = (Aᵀ m A)(i, j), of the sixteen products m, which lie `distance` apart.
template <class T>
[[gnu::always_inline]] inline void transform_output(const T* m, Index distance, Vec<T> (&y)[tile_out * tile_out]) {
  Vec<T> s[tile_in][tile_out];
  unroll<4>([&](auto i) {
    Vec<T> x[tile_in];
    unroll<4>([&](auto j) { x[j] = load(m + (4 * i + j) * distance); });
    s[i][0] = x[0] + x[1] + x[2];
    s[i][1] = x[1] - x[2] - x[3];
  });
  unroll<2>([&](auto j) {
    y[j] = s[0][j] + s[1][j] + s[2][j];
    y[2 + j] = s[1][j] - s[2][j] - s[3][j];
  });
}

}  // namespace etude::cpu::ETUDE_ISA::winograd
