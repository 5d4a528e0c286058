#pragma once

#include "etude/kernels/cpu/isa/gemm_tile.hpp"

// Max pooling of one window, channel by channel.

namespace etude::cpu::ETUDE_ISA {

/// The cells of a window that exist: cell (i, j), low <= (i, j) < high, lies at cells + i · row + j · column; its index
/// is i · width + j.
template <class T> struct PoolCells {
  const T* cells;
  Index row, column, width;
  Index low_y, high_y, low_x, high_x;

  /// Clips a window at (y, x) to an input of `height` · `width_` cells.
  void clip(Index y, Index x, Index height, Index width_, Index pool_height) {
    low_y = larger(-y, 0);
    low_x = larger(-x, 0);
    high_y = smaller(pool_height, height - y);
    high_x = smaller(width, width_ - x);
  }
};

/// out[c] = the largest of the cells' c, which[c] = the index of its first cell. NaN is larger than any number.
template <class T>
[[gnu::noinline]] inline void pool_cells(const PoolCells<T>& p, Index channels, T* out, T* which) {
  const auto pool = [&](auto from, auto to, Index c) __attribute__((always_inline)) {
    const T* line = p.cells + p.low_y * p.row + p.low_x * p.column + c;
    const Vec<T> one = broadcast(T(1)), skipped = broadcast(static_cast<T>(p.width - (p.high_x - p.low_x)));
    Vec<T> cell = broadcast(static_cast<T>(p.low_y * p.width + p.low_x)), name = cell, best = from(line);
    for (Index i = p.low_y; i < p.high_y; ++i, line += p.row, cell += skipped) {
      const T* at = line;
      for (Index j = p.low_x; j < p.high_x; ++j, at += p.column, cell += one) {
        const Vec<T> x = from(at);
        const auto better = xsimd::bitwise_andnot(best == best, x <= best);
        best = xsimd::select(better, x, best);
        name = xsimd::select(better, cell, name);
      }
    }
    to(out + c, best);
    to(which + c, name);
  };
  Index c = 0;
  for (; c + lanes<T> <= channels; c += lanes<T>)
    pool([](const T* at) __attribute__((always_inline)) { return load(at); },
         [](T* at, Vec<T> value) __attribute__((always_inline)) { store(at, value); }, c);
  if (const Index rest = channels - c; rest > 0)
    pool([=](const T* at) __attribute__((always_inline)) { return load_first(at, rest); },
         [=](T* at, Vec<T> value) __attribute__((always_inline)) { store_first(at, value, rest); }, c);
}

/// Converts indices to their stored type.
template <class T, class I> [[gnu::noinline]] inline void to_index(const T* which, Index count, I* index) {
  for (Index i = 0; i < count; ++i) index[i] = static_cast<I>(static_cast<std::int32_t>(which[i]));
}

}  // namespace etude::cpu::ETUDE_ISA
