#pragma once

#include "etude/kernels/cpu/isa/gemm_tile.hpp"

// Packing copies A and B, block by block, into the order in which the tiles read them. A tile then reads two contiguous
// panels, for any transposition and any row distance (with 4096 bytes all rows would map to one cache
// set).

namespace etude::cpu::ETUDE_ISA {

/// A matrix to read: element (i, j) is data[i · row + j · column]; row or column is 1.
template <class T>
struct Operand {
  const T* data;
  Index row, column;

  const T* at(Index i, Index j) const { return data + i * row + j * column; }
  Operand from(Index i, Index j) const { return {at(i, j), row, column}; }
};

/// Packs the rows [0, rows) of `a`, `depth` columns, into consecutive tiles: a tile of h rows is [depth][h]. Writes up
/// to `pack_overrun` elements more than rows · depth.
template <class T>
inline constexpr Index pack_overrun = quotient_up(tile_rows, lanes<T>) * lanes<T>;

template <class T>
[[gnu::noinline]] void pack_a(Operand<T> a, Index rows, Index depth, T* target) {
  constexpr int groups = static_cast<int>(pack_overrun<T> / lanes<T>);
  for (Index i = 0, h = 0; i < rows; i += h) {
    h = tile_height(rows - i);
    const T* source = a.at(i, 0);
    Index p = 0;
    if (a.column == 1) {
      // Whole registers are stored: the next p overwrites the elements beyond the h of one p.
      for (; p + lanes<T> <= depth; p += lanes<T>) {
        Vec<T> square[groups][lanes<T>];
        for (int g = 0; g < groups; ++g) {
          const Index first = smaller(g * lanes<T>, h - 1);
          load_transposed(source + first * a.row + p, a.row, h - first, square[g]);
        }
        for (Index q = 0; q < lanes<T>; ++q)
          for (int g = 0; g < groups; ++g) store(target + (p + q) * h + g * lanes<T>, square[g][q]);
      }
    } else if (i + pack_overrun<T> <= rows) {
      for (; p < depth; ++p)
        for (int g = 0; g < groups; ++g)
          store(target + p * h + g * lanes<T>, load(source + p * a.column + g * lanes<T>));
    }
    for (; p < depth; ++p)
      for (Index r = 0; r < h; ++r) target[p * h + r] = source[r * a.row + p * a.column];
    target += depth * h;
  }
}

/// Packs `depth` rows and `columns` columns of `b` into consecutive panels, each [depth][tile_width]; the missing
/// columns of the last panel are filled with values whose products are never stored.
template <class T>
[[gnu::noinline]] void pack_b(Operand<T> b, Index depth, Index columns, T* target) {
  constexpr Index width = tile_width<T>;
  for (Index j = 0; j < columns; j += width, target += depth * width) {
    for (Index v = 0; v < width; v += lanes<T>) {
      const Index count = smaller(columns - j - v, lanes<T>);
      const T* source = b.at(0, j + v);
      T* panel = target + v;
      Index p = 0;
      if (count <= 0) {
        for (; p < depth; ++p) store(panel + p * width, broadcast(T(0)));
      } else if (b.column == 1) {
        if (count == lanes<T>)
          for (; p < depth; ++p) store(panel + p * width, load(source + p * b.row));
        else
          for (; p < depth; ++p) store(panel + p * width, load_first(source + p * b.row, count));
      } else {
        for (; p + lanes<T> <= depth; p += lanes<T>) {
          Vec<T> square[lanes<T>];
          load_transposed(source + p, b.column, count, square);
          for (Index q = 0; q < lanes<T>; ++q) store(panel + (p + q) * width, square[q]);
        }
        for (; p < depth; ++p)
          for (Index x = 0; x < lanes<T>; ++x) panel[p * width + x] = x < count ? source[p + x * b.column] : T(0);
      }
    }
  }
}

/// The same for whole panels of a `b` with contiguous rows, row by row: adjacent elements are read together.
template <class T>
[[gnu::noinline]] void pack_rows_of_b(const T* b, Index row, Index depth, Index panels, T* target) {
  constexpr Index width = tile_width<T>;
  for (Index p = 0; p < depth; ++p, b += row)
    for (Index j = 0; j < panels; ++j)
      for (Index v = 0; v < width; v += lanes<T>) store(target + (j * depth + p) * width + v, load(b + j * width + v));
}

}  // namespace etude::cpu::ETUDE_ISA
