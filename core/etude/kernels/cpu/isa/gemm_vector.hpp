#pragma once

#include "etude/kernels/cpu/isa/gemm_pack.hpp"

// One row times a matrix. Only the row is used more than once, so nothing is packed: B is read once, in the order of
// memory.

namespace etude::cpu::ETUDE_ISA {

/// y[j] += x[0] · b[0, j] + … + x[Rows - 1] · b[Rows - 1, j], in that order, for j < columns.
template <class T, int Rows>
[[gnu::always_inline]] inline void add_rows(const T* x, Index x_step, const T* b, Index row, Index columns, T* y) {
  Vec<T> factor[Rows];
  for (int r = 0; r < Rows; ++r) factor[r] = broadcast(x[r * x_step]);
  Index j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>) {
    Vec<T> sum = load(y + j);
    for (int r = 0; r < Rows; ++r) sum = madd(factor[r], load(b + r * row + j), sum);
    store(y + j, sum);
  }
  if (const Index rest = columns - j; rest > 0) {
    Vec<T> sum = load_first(y + j, rest);
    for (int r = 0; r < Rows; ++r) sum = madd(factor[r], load_first(b + r * row + j, rest), sum);
    store_first(y + j, sum, rest);
  }
}

/// y[0 … columns) (+)= x · B for the few columns that fit in Pieces registers, which hold the sums throughout.
template <class T, int Pieces>
[[gnu::always_inline]] inline void row_times_few(const T* x, Index x_step, Operand<T> b, Index depth, Index columns,
                                                 T* y, bool add) {
  const Index rest = columns - (Pieces - 1) * lanes<T>;
  Vec<T> sum[Pieces];
  unroll<Pieces>([&](auto i) {
    const T* from = y + i * lanes<T>;
    sum[i] = !add ? broadcast(T(0)) : i + 1 < Pieces ? load(from) : load_first(from, rest);
  });
  for (Index p = 0; p < depth; ++p) {
    const Vec<T> factor = broadcast(x[p * x_step]);
    unroll<Pieces>([&](auto i) {
      const T* from = b.at(p, i * lanes<T>);
      sum[i] = madd(factor, i + 1 < Pieces ? load(from) : load_first(from, rest), sum[i]);
    });
  }
  unroll<Pieces>([&](auto i) {
    if constexpr (i + 1 < Pieces)
      store(y + i * lanes<T>, sum[i]);
    else
      store_first(y + i * lanes<T>, sum[i], rest);
  });
}

/// y[j] (+)= sum over p < depth of x[p · x_step] · b[p, j], j < columns, for B with contiguous rows. Four rows of B are
/// read side by side while a piece of y stays in cache; each element of y is the same sequence of madds as in a tile.
template <class T>
[[gnu::noinline]] void row_times_rows(const T* x, Index x_step, Operand<T> b, Index depth, Index columns, T* y,
                                      bool add) {
  if (columns <= lanes<T>) return row_times_few<T, 1>(x, x_step, b, depth, columns, y, add);
  if (columns <= 2 * lanes<T>) return row_times_few<T, 2>(x, x_step, b, depth, columns, y, add);
  if (columns <= 3 * lanes<T>) return row_times_few<T, 3>(x, x_step, b, depth, columns, y, add);
  if (columns <= 4 * lanes<T>) return row_times_few<T, 4>(x, x_step, b, depth, columns, y, add);
  constexpr Index piece = 8192 / static_cast<Index>(sizeof(T));
  for (Index first = 0; first < columns; first += piece) {
    const Index count = smaller(columns - first, piece);
    if (!add)
      for (Index j = 0; j < count; ++j) y[first + j] = T(0);
    Index p = 0;
    for (; p + 4 <= depth; p += 4) add_rows<T, 4>(x + p * x_step, x_step, b.at(p, first), b.row, count, y + first);
    for (; p < depth; ++p) add_rows<T, 1>(x + p * x_step, x_step, b.at(p, first), b.row, count, y + first);
  }
}

/// Columns of B that row_times_columns processes at a time.
template <class T>
inline constexpr Index column_group = larger(8, lanes<T>);

/// y[j] (+)= sum over p < depth of x[p] · b[p, j], j < columns, for B with contiguous columns: a dot product for each
/// j. Lane i of a sum takes every p ≡ i (mod lanes); the lanes are added at the end, always in the same order.
template <class T>
[[gnu::noinline]] void row_times_columns(const T* x, Operand<T> b, Index depth, Index columns, T* y, bool add) {
  constexpr Index group = column_group<T>;
  for (Index j = 0; j < columns; j += group) {
    const Index count = smaller(columns - j, group);
    const T* column[group];
    for (Index c = 0; c < group; ++c) column[c] = b.at(0, j + smaller(c, count - 1));
    Vec<T> sum[group];
    for (Index c = 0; c < group; ++c) sum[c] = broadcast(T(0));
    Index p = 0;
    for (; p + lanes<T> <= depth; p += lanes<T>) {
      const Vec<T> factor = load(x + p);
      for (Index c = 0; c < group; ++c) sum[c] = madd(factor, load(column[c] + p), sum[c]);
    }
    if (const Index rest = depth - p; rest > 0) {
      const Vec<T> factor = load_first(x + p, rest);
      for (Index c = 0; c < group; ++c) sum[c] = madd(factor, load_first(column[c] + p, rest), sum[c]);
    }
    for (Index c = 0; c < count; c += lanes<T>) {
      Vec<T> square[lanes<T>];
      for (Index i = 0; i < lanes<T>; ++i) square[i] = sum[c + i];
      transpose<T>(square);
      for (Index half = lanes<T> / 2; half > 0; half /= 2)
        for (Index i = 0; i < half; ++i) square[i] += square[i + half];
      const Index stored = smaller(count - c, lanes<T>);
      T* target = y + j + c;
      if (stored == lanes<T>)
        store(target, add ? square[0] + load(target) : square[0]);
      else
        store_first(target, add ? square[0] + load_first(target, stored) : square[0], stored);
    }
  }
}

}  // namespace etude::cpu::ETUDE_ISA
