#pragma once

#include <utility>

#include "etude/kernels/cpu/simd.hpp"

// The register tile: a few rows of A times a few registers' width of B, summed in registers. Every path of the product,
// full tiles and edges, packed and direct, calls `tile`, and `tile` adds k terms one after another to the contents of
// C. So an element of C has the same bits whichever tile, block or thread computes it.

namespace etude::cpu::ETUDE_ISA {

using Index = std::ptrdiff_t;

[[gnu::always_inline]] constexpr Index smaller(Index a, Index b) { return a < b ? a : b; }
[[gnu::always_inline]] constexpr Index larger(Index a, Index b) { return a > b ? a : b; }
[[gnu::always_inline]] constexpr Index quotient_up(Index a, Index b) { return (a + b - 1) / b; }
[[gnu::always_inline]] constexpr Index round_up(Index a, Index b) { return quotient_up(a, b) * b; }

/// Tile shape in rows × registers. A tile keeps rows · vectors sums, `vectors` pieces of B and one element of A in
/// registers. Each piece of B or A that it loads should serve as many multiplications as possible.
inline constexpr int tile_vectors = 2;
inline constexpr int tile_rows = registers == 32 ? 12 : registers == 16 ? 6 : 4;

/// Elements of T across a tile.
template <class T>
inline constexpr Index tile_width = tile_vectors * lanes<T>;

/// The height of the next tile when `remaining` rows are left. The last two share their rows evenly: a tile of one or
/// two rows would wait for its own additions.
[[gnu::always_inline]] constexpr Index tile_height(Index remaining) {
  if (remaining <= tile_rows) return remaining;
  return remaining - tile_rows < tile_rows / 2 ? quotient_up(remaining, 2) : tile_rows;
}

/// The values for the numbers 1 … Count, found by number.
template <class Value, int Count>
struct Table {
  Value values[Count];
  [[gnu::always_inline]] constexpr const Value& operator[](Index number) const { return values[number - 1]; }
};

/// make<1>(), …, make<Count>(): mostly functions compiled for that many rows or registers.
template <int Count, class Make>
constexpr auto table(Make make) {
  return [&]<int... Number>(std::integer_sequence<int, Number...>) {
    return Table<decltype(make.template operator()<1>()), Count> { {make.template operator()<Number + 1>()...} };
  }(std::make_integer_sequence<int, Count>{});
}

/// Calls body(0), …, body(Count - 1) with compile-time numbers: arrays indexed by them stay in registers in every
/// compiler.
template <int Count, class Body>
[[gnu::always_inline]] inline void unroll(Body&& body) {
  [&]<int... Number>(std::integer_sequence<int, Number...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, Number>()), ...);
  }(std::make_integer_sequence<int, Count>());
}

/// The operands of a tile: element (r, p) of A is a[r · a_row + p · a_column] (from a packed A: a[p · rows + r]),
/// element (p, x) of B is b[p · b_row + x], element (r, x) of C is c[r · c_row + x].
template <class T>
struct TileArguments {
  Index depth;
  const T* a;
  Index a_row, a_column;
  const T* b;
  Index b_row;
  T* c;
  Index c_row;
  bool add;
  T* keep;                    // where a keeping tile packs its panel of B
  const T* next_c = nullptr;  // the next tile's C: tiles of a packed A prefetch it
};

enum class Reads { direct, packed };  // how a tile reads A
enum class Keeps { nothing, panel };  // whether it also packs B: the stores cost nothing beside the multiplications

/// c[r, x] (+)= sum over p < depth of a[r, p] · b[p, x], r < Rows, x < Vectors · lanes.
template <class T, int Rows, int Vectors, Reads A, Keeps B>
[[gnu::noinline]] void tile(const TileArguments<T>& t) {
  const T* a = t.a;
  const T* b = t.b;
  [[maybe_unused]] T* keep = t.keep;
  [[maybe_unused]] const Index a_row = t.a_row, a_step = A == Reads::packed ? Rows : t.a_column;
  const Index b_row = t.b_row, c_row = t.c_row;
  Vec<T> sum[Rows][Vectors];
  if (const T* c = t.c; t.add) {
    unroll<Rows>([&](auto r) {
      unroll<Vectors>([&](auto v) { sum[r][v] = load(c + v * lanes<T>); });
      c += c_row;
    });
    if constexpr (fetches_ahead && A == Reads::packed) {
      const T* next = t.next_c;
      unroll<Rows>([&](auto) {
        unroll<Vectors>([&](auto v) { fetch(next + v * lanes<T>); });
        next += c_row;
      });
    }
  } else {
    unroll<Rows>([&](auto r) { unroll<Vectors>([&](auto v) { sum[r][v] = broadcast(T(0)); }); });
  }
  for (Index p = t.depth; p > 0; --p) {
    Vec<T> piece[Vectors];
    unroll<Vectors>([&](auto v) { piece[v] = load(b + v * lanes<T>); });
    if constexpr (B == Keeps::panel) {
      unroll<Vectors>([&](auto v) { store(keep + v * lanes<T>, piece[v]); });
      keep += tile_width<T>;
    }
    unroll<Rows>([&](auto r) {
      const Vec<T> element = broadcast(a[A == Reads::packed ? Index(r) : r * a_row]);
      unroll<Vectors>([&](auto v) { sum[r][v] = madd(element, piece[v], sum[r][v]); });
    });
    a += a_step;
    b += b_row;
  }
  T* c = t.c;
  unroll<Rows>([&](auto r) {
    unroll<Vectors>([&](auto v) { store(c + v * lanes<T>, sum[r][v]); });
    c += c_row;
  });
}

template <class T>
using Tile = void (*)(const TileArguments<T>&);

/// The tile of every height and width up to the full one: tiles<T, A, B>[rows][vectors].
template <class T, Reads A, Keeps B>
inline constexpr auto tiles = table<tile_rows>(
    []<int Rows> { return table<tile_vectors>([]<int Vectors> { return &tile<T, Rows, Vectors, A, B>; }); });

}  // namespace etude::cpu::ETUDE_ISA
