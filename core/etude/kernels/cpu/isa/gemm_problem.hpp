#pragma once

#include "etude/kernels/cpu/gemm.hpp"
#include "etude/kernels/cpu/isa/gemm_tile.hpp"

// What is to be multiplied, and where its blocks end.

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
/// Operands below this size are read where they lie: they fit in the first-level cache as they are.
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
  /// rows_done speaks of the columns of this problem, since it is the transposed one.
  bool turned;
  /// What row (or column, if turned) 0 of this problem is called in rows_done.
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

  /// The columns [begin, end) alone.
  Problem columns(Index begin, Index end) const {
    Problem part = *this;
    part.n = end - begin;
    part.b = b.from(0, begin);
    part.c = c + begin * c_column;
    if (turned) part.origin = origin + begin;
    return part;
  }
};

/// Where the blocks of a product end, and which operands are read in place.
template <class T>
struct Blocking {
  bool direct_a, direct_b;
  bool packs_on_the_way;  // one thread packs each panel of B when its turn comes
  bool one_block;         // and all rows of A are one block
  Index depth;            // of a panel
  Index chunk_depth;      // of what is packed of B at a time, a multiple of depth
  Index chunk_columns;    // likewise, a multiple of the tile's width

  /// `capacity`: elements of B that the workspace holds packed.
  Blocking(const Problem<T>& problem, int parts, Index capacity) {
    constexpr Index small = small_bytes / static_cast<Index>(sizeof(T));
    constexpr Index width = tile_width<T>;
    const Operand<T>&a = problem.a, &b = problem.b;
    const Index m = problem.m, n = problem.n, k = problem.k;
    direct_a = (a.column == 1 && n <= 4 * width) || (m - 1) * a.row + (k - 1) * a.column < small;
    direct_b = b.column == 1 && (m <= 2 * tile_rows || (k - 1) * b.row + n <= small);
    packs_on_the_way = parts == 1;
    // Equal depths: a last panel of a few k would load and store all of C for them.
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

/// What one block of rows of A needs of workspace.
template <class T>
Index block_a_elements(Index m, Index k) {
  return round_up(smaller(round_up(m, tile_rows), rows_most) * smaller(k, depth_most<T>) + pack_overrun<T>, 16);
}

/// Columns at whose multiples a product may be cut.
template <class T>
inline constexpr Index column_unit = larger(tile_width<T>, 64 / static_cast<Index>(sizeof(T)));

/// What the chunks of B need of workspace when its columns are cut into this many slices, for each.
template <class T>
Index chunk_b_elements(Index n, Index k, Index slices) {
  const Index columns = quotient_up(quotient_up(n, column_unit<T>), slices) * column_unit<T>;
  const Index panel = tile_width<T> * smaller(k, depth_most<T>);
  return round_up(smaller(columns * k, larger(packed_most / slices, panel)), 16);
}

}  // namespace etude::cpu::ETUDE_ISA
