#pragma once

#include "cuda/kernel.hpp"
#include "cuda/product.hpp"

namespace etude::cuda {

/// The most features of a head for which there are kernels.
inline constexpr std::int64_t most_features = 128;

/// Tiles of the matrices of attention in shared memory, and the part of them that a thread computes. Queries, keys and
/// values have up to `dims` features. Neighbouring threads share rows, and divide their columns.
template <class T, int dims>
struct AttentionTile {
  /// The rows of a tile: four tiles of features, and two of scores, fit in 48 kB.
  static constexpr int extent = dims <= 64 ? 32 : 16;
  static constexpr int lanes = 8;  ///< threads of a row
  static constexpr unsigned threads = 128;
  static constexpr int rows = extent * lanes / static_cast<int>(threads);
  static constexpr int columns = extent / lanes, wide = dims / lanes;  ///< of a thread, of scores and of features
  static constexpr int four = 4;                                       ///< neighbours that are read together

  /// Rows of features, which begin in different banks; and scores, by query and key.
  struct alignas(16) Matrix {
    float at[extent][dims + four];
    ETUDE_DEVICE float* operator[](int row) { return at[row]; }
    ETUDE_DEVICE const float* operator[](int row) const { return at[row]; }
  };
  struct alignas(16) Square {
    float at[extent][extent + four];
    ETUDE_DEVICE float* operator[](int row) { return at[row]; }
    ETUDE_DEVICE const float* operator[](int row) const { return at[row]; }
  };

  int index, lane, row;  ///< of the thread; the first row of its results

  ETUDE_DEVICE explicit AttentionTile(const Thread& thread)
      : index(static_cast<int>(thread.index())), lane(index % lanes), row(index / lanes * rows) {}

  /// The column of its score number j.
  ETUDE_DEVICE int column(int j) const { return lane + j * lanes; }

  /// Loads rows [first, first + extent) of a matrix with `count` rows and `features` columns. Rows after the last one,
  /// and columns up to a multiple of four, become 0.
  ETUDE_DEVICE void load(Matrix& tile, const MatrixOperand<T>& from, std::int64_t batch, int first, int count,
                         int features) const {
    const T* data = from.of_batch(batch);
    const int padded = (features + four - 1) / four * four;
    for (int r = index / static_cast<int>(warp); r < extent; r += static_cast<int>(threads / warp))
      for (int c = index % static_cast<int>(warp); c < padded; c += static_cast<int>(warp))
        tile[r][c] = first + r < count && c < features ? static_cast<float>(from.at(data, first + r, c)) : 0.0f;
  }

  /// Its part of a · bᵀ, along `features` columns.
  ETUDE_DEVICE void multiply(const Matrix& a, const Matrix& b, int features, float (&sums)[rows][columns]) const {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) sums[i][j] = 0;
    for (int k = 0; k < features; k += four) {
      float from_a[rows][four], from_b[columns][four];
      for (int i = 0; i < rows; ++i)
        for (int l = 0; l < four; ++l) from_a[i][l] = a[row + i][k + l];
      for (int j = 0; j < columns; ++j)
        for (int l = 0; l < four; ++l) from_b[j][l] = b[column(j)][k + l];
      for (int l = 0; l < four; ++l)
        for (int i = 0; i < rows; ++i)
          for (int j = 0; j < columns; ++j) sums[i][j] = multiply_add(from_a[i][l], from_b[j][l], sums[i][j]);
    }
  }

  /// Calls visit(number of the result, column) for its columns of features.
  template <class Visit> ETUDE_DEVICE void each_column(int features, Visit visit) const {
    ETUDE_UNROLL
    for (int c = 0; c < wide; ++c)
      if (const int column = feature(c); column < features) visit(c, column);
  }
  /// Calls visit(row of the tile, row of the matrix, number of the result, column) for its results in a matrix of
  /// `count` rows.
  template <class Visit> ETUDE_DEVICE void each_result(int first, int count, int features, Visit visit) const {
    ETUDE_UNROLL
    for (int i = 0; i < rows; ++i)
      if (const int of_matrix = first + row + i; of_matrix < count)
        each_column(features, [&](int c, int column) { visit(i, of_matrix, c, column); });
  }

  /// Adds its part of the product of weights, weight(i, k) in its row i, and the rows k of a tile.
  template <class Weight>
  ETUDE_DEVICE void add_products(float (&sums)[rows][wide], const Matrix& tile, int features, Weight weight) const {
    for (int k = 0; k < extent; ++k) {
      float weights[rows];
      for (int i = 0; i < rows; ++i) weights[i] = weight(i, k);
      ETUDE_UNROLL
      for (int c = 0; c < wide; c += four) {
        if (feature(c) >= (features + four - 1) / four * four) continue;
        for (int l = 0; l < four; ++l)
          for (int i = 0; i < rows; ++i)
            sums[i][c + l] = multiply_add(weights[i], tile[k][feature(c) + l], sums[i][c + l]);
      }
    }
  }

 private:
  /// The column of its feature number c. Four neighbours belong to one thread.
  ETUDE_DEVICE int feature(int c) const { return c / four * four * lanes + lane * four + c % four; }
};

}  // namespace etude::cuda
