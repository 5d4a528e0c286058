#pragma once

#include <limits>

#include "cuda/attention_tiles.hpp"
#include "cuda/long_rows.hpp"

// Attention and its gradients, without scores in memory. A block processes a tile of queries, or of keys, and goes
// through all keys, or queries. Source: Dao, "FlashAttention-2" (2023), with plain multiplications.

namespace etude::cuda {

/// A result of attention; `data` is null if it is not needed.
template <class T>
struct AttentionResult {
  T* data;
  std::int64_t row, column;
  BatchAxes batch;

  ETUDE_DEVICE void write(std::int64_t index, std::int64_t i, std::int64_t j, float x) const {
    data[batch.offset(index) + i * row + j * column] = static_cast<T>(x);
  }
};

/// The maximum of a row of scores, and the reciprocal of the sum of exp(score - maximum).
struct RowStatistics {
  float high, scale;
};

/// The operands from which attention and its gradients compute scores. Tiles are counted by the queries or keys of one
/// batch index first.
template <class T>
struct Scores {
  int queries, keys, depth, width;
  float scale, absent;
  Divisor tiles;
  MatrixOperand<T> query, key, value;
  MatrixOperand<bool> mask;  ///< null if there is none

  /// The score of a product. Masked scores are rounded exactly like stored scores.
  ETUDE_DEVICE float score(const bool* of_mask, float product, int i, int j) const {
    const float score = product * scale;
    if (of_mask == nullptr) return score;
    return static_cast<float>(static_cast<T>(score + (mask.at(of_mask, i, j) ? 0.0f : absent)));
  }
  ETUDE_DEVICE const bool* mask_of_batch(std::int64_t index) const {
    return mask.data == nullptr ? nullptr : mask.of_batch(index);
  }
};

/// Sums or maxima of the rows of a tile, whose columns are divided among neighbouring threads.
template <class Combine> ETUDE_DEVICE float combine_row(const Thread& thread, float x, Combine combine) {
  for (unsigned mask = AttentionTile<float, 64>::lanes / 2; mask > 0; mask /= 2) x = combine(x, thread.across(x, mask));
  return x;
}
ETUDE_DEVICE float sum_of_row(const Thread& thread, float x) {
  return combine_row(thread, x, [](float a, float b) { return a + b; });
}

/// out = softmax(scores) · value for a tile of queries. The weights of each tile of keys are relative to the maximum of
/// those so far; a larger one rescales the sums.
template <class T, int dims>
struct AttentionKernel {
  using Tile = AttentionTile<T, dims>;
  static constexpr const char* name = "attention";
  static constexpr bool wants_registers = true;
  static constexpr unsigned threads = Tile::threads;
  static constexpr int tile = Tile::extent;
  using Meets = void;
  struct Shared {
    typename Tile::Matrix query, key, value;
    typename Tile::Square weights;
  };

  Scores<T> of;
  AttentionResult<T> out;
  RowStatistics* statistics;  ///< null if they are not needed

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    std::int64_t index = thread.block();
    const int top = static_cast<int>(of.tiles.divide(index)) * tile;
    const Tile mine(thread);
    const bool* mask = of.mask_of_batch(index);
    float high[Tile::rows], sum[Tile::rows], sums[Tile::rows][Tile::wide];
    for (int i = 0; i < Tile::rows; ++i) {
      high[i] = -std::numeric_limits<float>::infinity(), sum[i] = 0;
      for (int c = 0; c < Tile::wide; ++c) sums[i][c] = 0;
    }
    mine.load(shared.query, of.query, index, top, of.queries, of.depth);
    for (int left = 0; left < of.keys; left += tile) {
      mine.load(shared.key, of.key, index, left, of.keys, of.depth);
      mine.load(shared.value, of.value, index, left, of.keys, of.width);
      thread.sync();
      float scores[Tile::rows][Tile::columns];
      mine.multiply(shared.query, shared.key, of.depth, scores);
      ETUDE_UNROLL
      for (int i = 0; i < Tile::rows; ++i) {
        const int row = mine.row + i, query = top + row;
        float highest = high[i];
        for (int j = 0; j < Tile::columns; ++j) {
          const int key = left + mine.column(j);
          scores[i][j] = query < of.queries && key < of.keys ? of.score(mask, scores[i][j], query, key)
                                                             : -std::numeric_limits<float>::infinity();
          highest = Normaliser<float>::larger(highest, scores[i][j]);
        }
        highest = combine_row(thread, highest, [](float a, float b) { return Normaliser<float>::larger(a, b); });
        // Without a finite score so far all weights are 0.
        const float from = highest == -std::numeric_limits<float>::infinity() ? 0.0f : highest;
        const float before = exponential(high[i] - from);
        high[i] = highest;
        sum[i] *= before;
        for (int c = 0; c < Tile::wide; ++c) sums[i][c] *= before;
        for (int j = 0; j < Tile::columns; ++j) {
          const float weight = exponential(scores[i][j] - from);
          sum[i] += weight;
          shared.weights[row][mine.column(j)] = weight;
        }
      }
      thread.sync();
      mine.add_products(sums, shared.value, of.width, [&](int i, int k) { return shared.weights[mine.row + i][k]; });
      thread.sync();
    }
    ETUDE_UNROLL
    for (int i = 0; i < Tile::rows; ++i) {
      const int query = top + mine.row + i;
      const float scale = 1.0f / sum_of_row(thread, sum[i]);
      if (query >= of.queries) continue;
      if (statistics != nullptr && mine.lane == 0) statistics[index * of.queries + query] = {high[i], scale};
      mine.each_column(of.width, [&](int c, int column) { out.write(index, query, column, sums[i][c] * scale); });
    }
  }
};

/// The operands of the gradients.
template <class T>
struct AttentionDerivative {
  Scores<T> of;
  MatrixOperand<T> d_out;
  const RowStatistics* statistics;
  float* sums_of_rows;  ///< of d_out ∘ out, by query: the sums of d_weights ∘ weights

  /// The weight of a score, and the derivative with respect to the score; 0 outside the matrix. `product` is query ·
  /// key and `d_weight` d_out · value.
  struct Weight {
    float weight, d_score;
  };
  ETUDE_DEVICE Weight weight(std::int64_t index, const bool* mask, int query, int key, float product,
                             float d_weight) const {
    if (query >= of.queries || key >= of.keys) return {0, 0};
    const auto [high, scale] = statistics[index * of.queries + query];
    const float weight = exponential(of.score(mask, product, query, key) - high) * scale;
    return {weight, weight * (d_weight - sums_of_rows[index * of.queries + query])};
  }
};

/// d_query = d_scores · key · scale for a tile of queries. It stores the sums of its rows for AttentionKeyKernel.
template <class T, int dims>
struct AttentionQueryKernel {
  using Tile = AttentionTile<T, dims>;
  static constexpr const char* name = "attention's gradient by queries";
  static constexpr bool wants_registers = true;
  static constexpr unsigned threads = Tile::threads;
  static constexpr int tile = Tile::extent;
  using Meets = void;
  struct Shared {
    typename Tile::Matrix query, d_out, key, value;
    typename Tile::Square d_scores;
  };

  AttentionDerivative<T> d;
  MatrixOperand<T> out;
  AttentionResult<T> d_query;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const Scores<T>& of = d.of;
    std::int64_t index = thread.block();
    const int top = static_cast<int>(of.tiles.divide(index)) * tile;
    const Tile mine(thread);
    const bool* mask = of.mask_of_batch(index);
    mine.load(shared.query, of.query, index, top, of.queries, of.depth);
    mine.load(shared.d_out, d.d_out, index, top, of.queries, of.width);
    thread.sync();
    sum_rows(thread, mine, shared.d_out, index, top);
    thread.sync();
    if (d_query.data == nullptr) return;
    float sums[Tile::rows][Tile::wide] = {};
    for (int left = 0; left < of.keys; left += tile) {
      mine.load(shared.key, of.key, index, left, of.keys, of.depth);
      mine.load(shared.value, of.value, index, left, of.keys, of.width);
      thread.sync();
      float products[Tile::rows][Tile::columns], d_weights[Tile::rows][Tile::columns];
      mine.multiply(shared.query, shared.key, of.depth, products);
      mine.multiply(shared.d_out, shared.value, of.width, d_weights);
      for (int i = 0; i < Tile::rows; ++i)
        for (int j = 0; j < Tile::columns; ++j)
          shared.d_scores[mine.row + i][mine.column(j)] =
              d.weight(index, mask, top + mine.row + i, left + mine.column(j), products[i][j], d_weights[i][j]).d_score;
      thread.sync();
      mine.add_products(sums, shared.key, of.depth, [&](int i, int k) { return shared.d_scores[mine.row + i][k]; });
      thread.sync();
    }
    mine.each_result(top, of.queries, of.depth, [&](int i, int row, int c, int column) {
      d_query.write(index, row, column, sums[i][c] * of.scale);
    });
  }

 private:
  ETUDE_DEVICE void sum_rows(const Thread& thread, const Tile& mine, const typename Tile::Matrix& d_out,
                             std::int64_t index, int top) const {
    const T* first = out.of_batch(index);
    for (int i = 0; i < Tile::rows; ++i) {
      const int row = mine.row + i, query = top + row;
      float sum = 0;
      if (query < d.of.queries)
        for (int j = mine.lane; j < d.of.width; j += Tile::lanes)
          sum = multiply_add(d_out[row][j], static_cast<float>(out.at(first, query, j)), sum);
      sum = sum_of_row(thread, sum);
      if (query < d.of.queries && mine.lane == 0) d.sums_of_rows[index * d.of.queries + query] = sum;
    }
  }
};

/// d_key = d_scoresᵀ · query · scale and d_value = weightsᵀ · d_out for a tile of keys.
template <class T, int dims>
struct AttentionKeyKernel {
  using Tile = AttentionTile<T, dims>;
  static constexpr const char* name = "attention's gradients by keys";
  static constexpr unsigned threads = Tile::threads;
  static constexpr int tile = Tile::extent;
  using Meets = void;
  struct Shared {
    typename Tile::Matrix key, value, query, d_out;
    typename Tile::Square weights, d_scores;
  };

  AttentionDerivative<T> d;
  AttentionResult<T> d_key, d_value;

  ETUDE_DEVICE void operator()(const Thread& thread, Shared& shared) const {
    const Scores<T>& of = d.of;
    std::int64_t index = thread.block();
    const int left = static_cast<int>(of.tiles.divide(index)) * tile;
    const Tile mine(thread);
    const bool* mask = of.mask_of_batch(index);
    float of_key[Tile::rows][Tile::wide] = {}, of_value[Tile::rows][Tile::wide] = {};
    mine.load(shared.key, of.key, index, left, of.keys, of.depth);
    mine.load(shared.value, of.value, index, left, of.keys, of.width);
    for (int top = 0; top < of.queries; top += tile) {
      mine.load(shared.query, of.query, index, top, of.queries, of.depth);
      mine.load(shared.d_out, d.d_out, index, top, of.queries, of.width);
      thread.sync();
      float products[Tile::rows][Tile::columns], d_weights[Tile::rows][Tile::columns];
      mine.multiply(shared.query, shared.key, of.depth, products);
      mine.multiply(shared.d_out, shared.value, of.width, d_weights);
      for (int i = 0; i < Tile::rows; ++i)
        for (int j = 0; j < Tile::columns; ++j) {
          const int row = mine.row + i, column = mine.column(j);
          const auto [weight, d_score] =
              d.weight(index, mask, top + row, left + column, products[i][j], d_weights[i][j]);
          shared.weights[row][column] = weight;
          shared.d_scores[row][column] = d_score;
        }
      thread.sync();
      mine.add_products(of_value, shared.d_out, of.width,
                        [&](int i, int k) { return shared.weights[k][mine.row + i]; });
      mine.add_products(of_key, shared.query, of.depth, [&](int i, int k) { return shared.d_scores[k][mine.row + i]; });
      thread.sync();
    }
    if (d_key.data != nullptr)
      mine.each_result(left, of.keys, of.depth, [&](int i, int row, int c, int column) {
        d_key.write(index, row, column, of_key[i][c] * of.scale);
      });
    if (d_value.data != nullptr)
      mine.each_result(left, of.keys, of.width,
                       [&](int i, int row, int c, int column) { d_value.write(index, row, column, of_value[i][c]); });
  }
};

}  // namespace etude::cuda
