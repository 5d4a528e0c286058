#pragma once

#include "etude/kernels/cpu/isa/gemm_pack.hpp"

// A block of C: its tiles, row after row, for one panel of B after another.

namespace etude::cpu::ETUDE_ISA {

/// Computes a tile at the right edge of C, or of a C whose rows are not contiguous, at full width in a buffer.
template <class T>
[[gnu::noinline]] void edge_tile(Tile<T> tile, TileArguments<T> t, Index rows, Index columns, Index c_column) {
  constexpr Index width = tile_width<T>;
  alignas(64) T aside[pack_overrun<T> * width];  // whole squares of rows; the surplus is never read
  T* c = t.c;
  const Index c_row = t.c_row;
  t.c = aside;
  t.c_row = width;
  t.next_c = aside;
  if (t.add) {
    for (Index r = 0; r < rows; ++r)
      for (Index x = 0; x < width; ++x) aside[r * width + x] = x < columns ? c[r * c_row + x * c_column] : T(0);
  }
  tile(t);
  if (c_column == 1) {
    for (Index r = 0; r < rows; ++r)
      for (Index x = 0; x < columns; x += lanes<T>)
        store_first(c + r * c_row + x, load(aside + r * width + x), smaller(columns - x, lanes<T>));
  } else if (c_row == 1) {
    for (Index r = 0; r < rows; r += lanes<T>)
      for (Index x = 0; x < columns; x += lanes<T>) {
        Vec<T> square[lanes<T>];
        load_transposed(aside + r * width + x, width, rows - r, square);
        for (Index i = 0; i < smaller(columns - x, lanes<T>); ++i)
          store_first(c + r + (x + i) * c_column, square[i], smaller(rows - r, lanes<T>));
      }
  } else {
    for (Index r = 0; r < rows; ++r)
      for (Index x = 0; x < columns; ++x) c[r * c_row + x * c_column] = aside[r * width + x];
  }
}

/// Panels of B that are packed together, so that adjacent elements of its rows are read together.
inline constexpr Index panels_at_once = 8;

/// A block of B: [depth, columns] in place, and its panels [depth][tile_width].
template <class T>
struct BlockB {
  enum class Use {
    packed,   // the panels are packed already
    packing,  // panels are packed a few at a time, just before they are used
    passing,  // each is, if B's rows are contiguous by the first tile that reads it, and all in the place of the first:
              // they are not read again, and their place stays in cache
    direct,   // B is read in place; only a last panel of incomplete registers is packed, as with passing
  };
  Operand<T> source;
  T* panels;
  Use use;
};

/// C[rows, columns] (+)= A[rows, depth] · B[depth, columns], tile by tile. If A is packed, its address is that of its
/// tiles [depth][height].
template <class T, Reads A>
void multiply_block(Index rows, Index columns, Index depth, Operand<T> a, const BlockB<T>& b, T* c, Index c_row,
                    Index c_column, bool add) {
  using Use = typename BlockB<T>::Use;
  constexpr Index width = tile_width<T>;
  for (Index j = 0; j < columns; j += width) {
    const Index here = smaller(columns - j, width), vectors = quotient_up(here, lanes<T>);
    const bool whole = here == vectors * lanes<T>;
    T* panel = b.panels + (b.use == Use::packed || b.use == Use::packing ? j * depth : 0);
    TileArguments<T> t{depth, nullptr, a.row, a.column, panel, width, nullptr, c_row, add, panel};
    if (b.use == Use::packing && b.source.column == 1 && here == width) {
      if (j % (panels_at_once * width) == 0)
        pack_rows_of_b(b.source.data + j, b.source.row, depth, smaller(panels_at_once, (columns - j) / width), panel);
    } else if (b.use != Use::packed) {
      if (!whole || b.source.column != 1) {
        pack_b(b.source.from(0, j), depth, here, panel);
      } else {
        t.b = b.source.data + j;
        t.b_row = b.source.row;
      }
    }
    bool keep = b.use != Use::direct && t.b != panel;
    const bool last = j + width >= columns;
    for (Index i = 0, height = 0; i < rows; i += height) {
      height = tile_height(rows - i);
      t.a = a.data + i * (A == Reads::packed ? depth : a.row);
      t.c = c + i * c_row + j * c_column;
      t.next_c = i + height < rows || last ? t.c + height * c_row : c + (j + width) * c_column;
      const Tile<T> tile =
          keep ? tiles<T, A, Keeps::panel>[height][vectors] : tiles<T, A, Keeps::nothing>[height][vectors];
      if (whole && c_column == 1)
        tile(t);
      else
        edge_tile<T>(tile, t, height, here, c_column);
      if (keep) {
        t.b = panel;
        t.b_row = width;
        keep = false;
      }
    }
  }
}

}  // namespace etude::cpu::ETUDE_ISA
