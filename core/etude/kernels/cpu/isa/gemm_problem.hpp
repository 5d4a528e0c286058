#pragma once

#include "etude/kernels/cpu/gemm.hpp"
#include "etude/kernels/cpu/isa/gemm_tile.hpp"

// The definition of a product, and the limits of its blocks.

namespace etude::cpu::ETUDE_ISA {

/// Depth of a packed panel: tile_width · depth_most elements of B take half of a first-level cache of 32 KB.
template <class T>
inline constexpr Index depth_most = 1024 / static_cast<Index>(sizeof(T));
/// Rows of A packed at a time: rows_most · depth_most elements take a third of a second-level cache of 512 KB.
inline constexpr Index rows_most = 144;
/// Rows of C that a transposed product finishes at a time.
inline constexpr Index rows_at_once = 768;
/// Elements of B packed at a time.
inline constexpr Index packed_most = Index{1} << 20;
/// Operands below this size are read in place: they fit in the first-level cache unpacked.
inline constexpr Index small_bytes = 16384;
/// Columns up to which C may be computed as Cᵀ = Bᵀ · Aᵀ.
template <class T>
inline constexpr Index thin_columns = 2 * tile_width<T>;

/// C[m, n] (+)= A[m, k] · B[k, n] with the transposes resolved into strides.
template <class T>
struct Problem {
  Index m, n, k;
  Operand<T> a, b;
  T* c;
  Index c_row, c_column;
  bool add;
  void (*rows_done)(void* context, std::int64_t begin, std::int64_t end);
  void* context;
  /// This is the transposed problem: rows_done refers to its columns.
  bool turned;
  /// The number by which rows_done refers to row 0 (column 0, if turned) of this problem.
  Index origin;

  void finished(Index begin, Index end) const {
    if (rows_done != nullptr && begin < end) rows_done(context, origin + begin, origin + end);
  }

  /// The same product as Cᵀ = Bᵀ · Aᵀ.
  Problem transposed() const {
    Problem other = *this;
    other.m = n;
    other.n = m;
    other.a = {b.data, b.column, b.row};
    other.b = {a.data, a.column, a.row};
    other.c_row = c_column;
    other.c_column = c_row;
    other.turned = !turned;
    return other;
  }

  /// A product of the columns [begin, end) only.
  Problem columns(Index begin, Index end) const {
    Problem part = *this;
    part.n = end - begin;
    part.b = b.from(0, begin);
    part.c = c + begin * c_column;
    if (turned) part.origin = origin + begin;
    return part;
  }
};

/// The limits of a product's blocks, and which operands are read in place.
template <class T>
struct Blocking {
  bool direct_a, direct_b;
  bool packs_on_the_way;  // one thread packs each panel of B just before it uses it
  bool one_block;         // and all rows of A are one block
  Index depth;            // of a panel
  Index chunk_depth;      // of the part of B packed at a time; a multiple of depth
  Index chunk_columns;    // likewise, a multiple of the tile's width

  /// `capacity`: the elements of packed B that the workspace holds.
  Blocking(const Problem<T>& problem, int parts, Index capacity) {
    constexpr Index small = small_bytes / static_cast<Index>(sizeof(T));
    constexpr Index width = tile_width<T>;
    const Operand<T>&a = problem.a, &b = problem.b;
    const Index m = problem.m, n = problem.n, k = problem.k;
    direct_a = (a.column == 1 && n <= 4 * width) || (m - 1) * a.row + (k - 1) * a.column < small;
    direct_b = b.column == 1 && (m <= 2 * tile_rows || (k - 1) * b.row + n <= small);
    packs_on_the_way = parts == 1;
    // Equal depths: a short last panel would load and store all of C for a few k.
    depth = k <= depth_most<T> ? k : quotient_up(k, quotient_up(k, depth_most<T>));
    one_block = parts == 1 && m <= rows_most;
    chunk_columns = round_up(n, width);
    if (!one_block)
      chunk_columns = smaller(chunk_columns, capacity / (depth * width) * width);
    else if (problem.turned)
      chunk_columns = smaller(chunk_columns, rows_at_once);
    chunk_depth = depth;
    if (parts > 1) chunk_depth *= capacity / (chunk_columns * depth);  // few, long fan-outs
  }
};

/// The workspace of one block of rows of A.
template <class T>
Index block_a_elements(Index m, Index k) {
  return round_up(smaller(round_up(m, tile_rows), rows_most) * smaller(k, depth_most<T>) + pack_overrun<T>, 16);
}

/// A product may be divided at multiples of this many columns.
template <class T>
inline constexpr Index column_unit = larger(tile_width<T>, 64 / static_cast<Index>(sizeof(T)));

/// The workspace of each slice for its chunks of B, when the columns are divided into this many slices.
template <class T>
Index chunk_b_elements(Index n, Index k, Index slices) {
  const Index columns = quotient_up(quotient_up(n, column_unit<T>), slices) * column_unit<T>;
  const Index panel = tile_width<T> * smaller(k, depth_most<T>);
  return round_up(smaller(columns * k, larger(packed_most / slices, panel)), 16);
}

}  // namespace etude::cpu::ETUDE_ISA
