#pragma once

#include "etude/kernels/cpu/isa/gemm_pack.hpp"

// The register tile of convolutions: like the product's, but the elements of A are gathered. Element (r, k) of A lies
// offsets[k] bytes after rows[r], so that A is never stored: the rows are pixels and the offsets are the cells of the
// window, or the reverse.

namespace etude::cpu::ETUDE_ISA {

template <class T> struct GatherArguments {
  const T* const* rows;
  const Index* offsets;
  Index depth;
  const T* b;  // a panel [depth][tile_width]
  T* c;
  Index c_row;
  bool add;
};

/// sum[r][v] += A(r, k) · b[k, v] for k < depth, in that order.
template <class T, int Rows, int Vectors>
[[gnu::always_inline]] inline void gather_sums(const GatherArguments<T>& t, Vec<T> (&sum)[Rows][Vectors]) {
  const char* a[Rows];
  unroll<Rows>([&](auto r) { a[r] = reinterpret_cast<const char*>(t.rows[r]); });
  const T* b = t.b;
  const Index* const last = t.offsets + t.depth;
  for (const Index* at = t.offsets; at != last; ++at) {
    const Index offset = *at;
    Vec<T> piece[Vectors];
    unroll<Vectors>([&](auto v) { piece[v] = load(b + v * lanes<T>); });
    unroll<Rows>([&](auto r) {
      const Vec<T> element = broadcast(*reinterpret_cast<const T*>(a[r] + offset));
      unroll<Vectors>([&](auto v) { sum[r][v] = madd(element, piece[v], sum[r][v]); });
    });
    b += tile_width<T>;
  }
}

/// c[r, x] (+)= sum over k < depth of A(r, k) · b[k, x], r < Rows, x < Vectors · lanes.
template <class T, int Rows, int Vectors> [[gnu::noinline]] void gather_tile(const GatherArguments<T>& t) {
  Vec<T> sum[Rows][Vectors];
  if (const T* c = t.c; t.add) {
    unroll<Rows>([&](auto r) {
      unroll<Vectors>([&](auto v) { sum[r][v] = load(c + v * lanes<T>); });
      c += t.c_row;
    });
  } else {
    unroll<Rows>([&](auto r) { unroll<Vectors>([&](auto v) { sum[r][v] = broadcast(T(0)); }); });
  }
  gather_sums(t, sum);
  T* c = t.c;
  unroll<Rows>([&](auto r) {
    unroll<Vectors>([&](auto v) { store(c + v * lanes<T>, sum[r][v]); });
    c += t.c_row;
  });
}

/// Stores the largest of the tile's rows in c and the number of that row in which: it pools a window's cells in
/// registers as pool_cells does.
template <class T, int Rows, int Vectors>
[[gnu::noinline]] void gather_largest(const GatherArguments<T>& t, T* which) {
  Vec<T> sum[Rows][Vectors];
  unroll<Rows>([&](auto r) { unroll<Vectors>([&](auto v) { sum[r][v] = broadcast(T(0)); }); });
  gather_sums(t, sum);
  unroll<Vectors>([&](auto v) {
    Vec<T> best = sum[0][v], name = broadcast(T(0));
    unroll<Rows - 1>([&](auto r) {
      const auto better = xsimd::bitwise_andnot(best == best, sum[r + 1][v] <= best);
      best = xsimd::select(better, sum[r + 1][v], best);
      name = xsimd::select(better, broadcast(static_cast<T>(r + 1)), name);
    });
    store(t.c + v * lanes<T>, best);
    store(which + v * lanes<T>, name);
  });
}

/// The tiles of every height and width up to the full one.
template <class T> inline constexpr auto gather_tiles = table<tile_rows>(
    []<int Rows> { return table<tile_vectors>([]<int Vectors> { return &gather_tile<T, Rows, Vectors>; }); });

/// The same for gather_largest, for every number of rows.
template <class T> inline constexpr auto largest_tiles = table<tile_rows>(
    []<int Rows> { return table<tile_vectors>([]<int Vectors> { return &gather_largest<T, Rows, Vectors>; }); });

/// Computes a tile whose last register extends beyond the `columns` of C in a buffer.
template <class T> [[gnu::noinline]] void gather_edge(GatherArguments<T> t, Index rows, Index columns) {
  constexpr Index width = tile_width<T>;
  alignas(64) T aside[tile_rows * width];
  T* c = t.c;
  const Index c_row = t.c_row;
  t.c = aside;
  t.c_row = width;
  if (t.add)
    for (Index r = 0; r < rows; ++r)
      for (Index x = 0; x < width; ++x) aside[r * width + x] = x < columns ? c[r * c_row + x] : T(0);
  gather_tiles<T>[rows][quotient_up(columns, lanes<T>)](t);
  for (Index r = 0; r < rows; ++r)
    for (Index x = 0; x < columns; x += lanes<T>)
      store_first(c + r * c_row + x, load(aside + r * width + x), smaller(columns - x, lanes<T>));
}

/// Depth of a panel that stays in the first-level cache while it is multiplied by all rows.
template <class T> inline constexpr Index gather_depth = 1280 / static_cast<Index>(sizeof(T));

/// c[r, x] (+)= sum over k < depth of A(r, k) · B(k, x) for r < count, x < columns. Panel j of B begins at panels + j ·
/// panel_distance. Each element is one sequence of madds, whichever tile computes it.
template <class T>
void gather_multiply(const T* const* rows, Index count, const Index* offsets, Index depth, const T* panels,
                     Index panel_distance, Index columns, T* c, Index c_row, bool add) {
  // Equal depths: a short last panel would load and store all of C for a few k.
  const Index each = quotient_up(depth, quotient_up(depth, gather_depth<T>));
  for (Index k = 0; k < depth; k += each) {
    const Index here = smaller(depth - k, each);
    for (Index j = 0; j < columns; j += tile_width<T>) {
      const Index wide = smaller(columns - j, tile_width<T>), vectors = quotient_up(wide, lanes<T>);
      const T* panel = panels + j / tile_width<T> * panel_distance + k * tile_width<T>;
      for (Index i = 0, height = 0; i < count; i += height) {
        height = tile_height(count - i);
        const GatherArguments<T> t{rows + i, offsets + k, here, panel, c + i * c_row + j, c_row, add || k > 0};
        if (wide == vectors * lanes<T>)
          gather_tiles<T>[height][vectors](t);
        else
          gather_edge(t, height, wide);
      }
    }
  }
}

}  // namespace etude::cpu::ETUDE_ISA
