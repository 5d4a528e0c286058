#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/batch_axes.hpp"
#include "cuda/kernel.hpp"
#include "etude/base/dtype.hpp"

// Products of all kinds: matrices, convolutions and their gradients. They differ in the address of an operand's
// element. The tiles, their loads into shared memory, and the order of sums are the same for all.

namespace etude::cuda {

/// The type in which numbers that are stored as T are summed.
template <class T> using Computed = std::conditional_t<is_half(dtype_of<T>), float, T>;

/// A matrix of a batch, by rows and columns.
template <class T>
struct MatrixOperand {
  const T* data;
  std::int64_t row, column;
  BatchAxes batch;

  /// Whether neighbours in a row are neighbours in memory.
  ETUDE_DEVICE bool rows_contiguous() const { return column == 1; }
  ETUDE_DEVICE const T* of_batch(std::int64_t index) const { return data + batch.offset(index); }
  ETUDE_DEVICE T at(const T* first, std::int64_t i, std::int64_t j) const { return first[i * row + j * column]; }
};

/// A block of threads computes a tile of C, and each thread a square of the tile.
inline constexpr int tile_extent = 64, tile_depth = 16, square_extent = 4;

/// The division of a product: into tiles and, if these are too few for a GPU, along k into splits, which are computed
/// separately and then summed. It depends only on the shape, so that every GPU computes the same sums.
struct ProductShape {
  std::int64_t m, n, k, batch;
  std::int64_t splits = 1, split_depth = 0;

  ProductShape(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t count)
      : m(rows), n(columns), k(depth), batch(count) {
    constexpr std::int64_t enough_tiles = 128, least_depth = 8 * tile_depth;
    const std::int64_t wanted = std::min(enough_tiles / std::max<std::int64_t>(tiles(), 1), k / least_depth);
    split_depth = std::max<std::int64_t>(blocks_for(blocks_for(k, std::max<std::int64_t>(wanted, 1)), tile_depth), 1) *
                  tile_depth;
    splits = std::max<std::int64_t>(blocks_for(k, split_depth), 1);
  }
  std::int64_t tiles() const { return blocks_for(m, tile_extent) * blocks_for(n, tile_extent) * batch; }
  /// The bytes of the splits' results, if there are several, for a product that is stored as `dtype`.
  std::size_t part_bytes(DType dtype) const {
    const std::size_t element = is_half(dtype) ? sizeof(float) : size_of(dtype);
    return splits > 1 ? static_cast<std::size_t>(splits * batch * m * n) * element : 0;
  }
};

/// c = a · b, or this split's part of it.
template <class C, class A, class B>
struct Product {
  using T = Computed<C>;
  static constexpr const char* name = "product";
  static constexpr unsigned threads = (tile_extent / square_extent) * (tile_extent / square_extent);
  static constexpr bool wants_registers = requires { A::is_far; };
  using Meets = void;
  struct Shared {
    alignas(16) T a[tile_depth][tile_extent + 4], b[tile_depth][tile_extent + 4];
  };

  std::int64_t m, n, k, split_depth;
  Divisor tiles_n, tiles_m, splits;
  A a;
  B b;
  C* c;
  std::int64_t c_row, split_stride;
  BatchAxes c_batch;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    constexpr int across = tile_extent / square_extent, loads = tile_extent * tile_depth / static_cast<int>(threads);
    const int t = static_cast<int>(thread.index());
    // The index of the tile: columns change fastest, then rows, then splits, then the batch.
    std::int64_t block = thread.block();
    const std::int64_t left = tiles_n.divide(block) * tile_extent, top = tiles_m.divide(block) * tile_extent;
    const std::int64_t split = splits.divide(block), index = block;
    const std::int64_t first = split * split_depth, rest = k - first,
                       last = rest < split_depth ? k : first + split_depth;

    const auto a_first = a.of_batch(index);
    const auto b_first = b.of_batch(index);
    const bool a_along_k = a.rows_contiguous(), b_along_n = b.rows_contiguous();
    T next_a[loads], next_b[loads];
    // The elements that this thread loads of a tile: one of a and one of b at a time. Neighbouring threads load
    // neighbours.
    const auto each_load = [&](auto bring) {
      for (int l = 0; l < loads; ++l) {
        const int e = l * static_cast<int>(threads) + t;
        const int ar = a_along_k ? e / tile_depth : e % tile_extent, ak = a_along_k ? e % tile_depth : e / tile_extent;
        const int bc = b_along_n ? e % tile_extent : e / tile_depth, bk = b_along_n ? e / tile_extent : e % tile_depth;
        bring(l, ar, ak, bk, bc);
      }
    };
    const auto fetch = [&](std::int64_t depth) {
      each_load([&](int l, int ar, int ak, int bk, int bc) {
        next_a[l] = top + ar < m && depth + ak < last ? static_cast<T>(a.at(a_first, top + ar, depth + ak)) : T(0);
        next_b[l] = left + bc < n && depth + bk < last ? static_cast<T>(b.at(b_first, depth + bk, left + bc)) : T(0);
      });
    };
    const auto put = [&] {
      each_load([&](int l, int ar, int ak, int bk, int bc) {
        shared.a[ak][ar] = next_a[l];
        shared.b[bk][bc] = next_b[l];
      });
    };

    const int row = t / across * square_extent, column = t % across * square_extent;
    T sums[square_extent][square_extent] = {};
    fetch(first);
    for (std::int64_t depth = first; depth < last; depth += tile_depth) {
      put();
      thread.sync();
      if (depth + tile_depth < last) fetch(depth + tile_depth);
      for (int p = 0; p < tile_depth; ++p) {
        T from_a[square_extent], from_b[square_extent];
        for (int i = 0; i < square_extent; ++i) from_a[i] = shared.a[p][row + i], from_b[i] = shared.b[p][column + i];
        for (int i = 0; i < square_extent; ++i)
          for (int j = 0; j < square_extent; ++j) sums[i][j] = multiply_add(from_a[i], from_b[j], sums[i][j]);
      }
      thread.sync();
    }

    C* out = c + split * split_stride + c_batch.offset(index);
    for (int i = 0; i < square_extent; ++i)
      for (int j = 0; j < square_extent; ++j)
        if (top + row + i < m && left + column + j < n)
          out[(top + row + i) * c_row + left + column + j] = static_cast<C>(sums[i][j]);
  }
};

/// Sums the splits of a product, in order.
template <class C>
struct AddSplits {
  using T = Computed<C>;
  static constexpr const char* name = "add splits";
  Divisor m, n;
  std::int64_t elements, splits;  ///< elements: of one split
  const T* parts;
  C* c;
  std::int64_t c_row;
  BatchAxes c_batch;

  ETUDE_DEVICE void operator()(std::int64_t i) const {
    T sum = parts[i];
    for (std::int64_t split = 1; split < splits; ++split) sum += parts[split * elements + i];
    std::int64_t index = i;
    const std::int64_t column = n.divide(index), row = m.divide(index);
    c[c_batch.offset(index) + row * c_row + column] = static_cast<C>(sum);
  }
};

/// Enqueues the product; `parts` is large enough for the results of the shape's splits.
template <class C, class A, class B>
void multiply(Runtime& runtime, const ProductShape& shape, const A& a, const B& b, C* c, std::int64_t c_row,
              const BatchAxes& c_batch, Computed<C>* parts) {
  const auto queue = [&]<class To>(To* to, std::int64_t row, std::int64_t split_stride, const BatchAxes& batch) {
    launch(runtime, shape.tiles() * shape.splits,
           Product<To, A, B>{shape.m, shape.n, shape.k, shape.split_depth, blocks_for(shape.n, tile_extent),
                             blocks_for(shape.m, tile_extent), shape.splits, a, b, to, row, split_stride, batch});
  };
  if (shape.splits == 1) return queue(c, c_row, 0, c_batch);
  queue(parts, shape.n, shape.batch * shape.m * shape.n, {1, {shape.batch}, {shape.m * shape.n}});
  const std::int64_t elements = shape.batch * shape.m * shape.n;
  launch_each(runtime, elements, AddSplits<C>{shape.m, shape.n, elements, shape.splits, parts, c, c_row, c_batch});
}

}  // namespace etude::cuda
