#include "etude/initializers/detail/orthonormal.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "etude/base/threads.hpp"

namespace etude::initializers {
namespace {

/// The number of reflections that are applied at once, and the columns in one part of the work.
constexpr std::int64_t block = 32, part_columns = 64;

/// Element (i, j) is data[i * row + j * column].
struct Matrix {
  double* data;
  std::int64_t row, column = 1;

  double& operator()(std::int64_t i, std::int64_t j) const { return data[i * row + j * column]; }
  Matrix from(std::int64_t i, std::int64_t j) const { return {&(*this)(i, j), row, column}; }
  Matrix transposed() const { return {data, column, row}; }
};

/// The rows and terms of a product that are computed together, and the rows and columns of a tile in registers.
constexpr std::int64_t product_rows = 32, product_terms = 128, tile = 4;

/// Packs `from`, [rows, terms], in groups of four rows: the four numbers of a term side by side, zeros for missing
/// rows.
void pack(Matrix from, std::int64_t rows, std::int64_t terms, double* to) {
  for (std::int64_t i = 0; i < rows; i += tile)
    for (std::int64_t k = 0; k < terms; ++k)
      for (std::int64_t r = i; r < i + tile; ++r) *to++ = r < rows ? from(r, k) : 0;
}

/// c += a · b for packed a and b of four rows, or columns, each.
void multiply_tile(const double* a, const double* b, std::int64_t terms, double (&c)[tile][tile]) {
  using Two [[gnu::vector_size(16)]] = double;  // two lanes, which every target has
  Two sum[tile][2];
  for (int i = 0; i < tile; ++i)
    for (int j = 0; j < 2; ++j) sum[i][j] = Two{c[i][2 * j], c[i][2 * j + 1]};
  for (std::int64_t k = 0; k < terms; ++k, a += tile, b += tile) {
    const Two left = {b[0], b[1]}, right = {b[2], b[3]};
    for (int i = 0; i < tile; ++i) {
      sum[i][0] += a[i] * left;
      sum[i][1] += a[i] * right;
    }
  }
  for (int i = 0; i < tile; ++i)
    for (int j = 0; j < tile; ++j) c[i][j] = sum[i][j / 2][j % 2];
}

/// c [m, n] += a [m, k] · b [k, n]. Each element adds its terms one after another, in order.
void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k, Matrix a, Matrix b, Matrix c) {
  double packed_a[product_rows * product_terms], packed_b[tile * product_terms];
  for (std::int64_t term = 0; term < k; term += product_terms)
    for (std::int64_t row = 0; row < m; row += product_rows) {
      const std::int64_t terms = std::min(product_terms, k - term), rows = std::min(product_rows, m - row);
      pack(a.from(row, term), rows, terms, packed_a);
      for (std::int64_t column = 0; column < n; column += tile) {
        const std::int64_t columns = std::min(tile, n - column);
        pack(b.from(term, column).transposed(), columns, terms, packed_b);
        for (std::int64_t i = 0; i < rows; i += tile) {
          const std::int64_t height = std::min(tile, rows - i);
          const Matrix out = c.from(row + i, column);
          double sums[tile][tile]{};
          for (std::int64_t r = 0; r < height; ++r)
            for (std::int64_t s = 0; s < columns; ++s) sums[r][s] = out(r, s);
          multiply_tile(packed_a + i * terms, packed_b, terms, sums);
          for (std::int64_t r = 0; r < height; ++r)
            for (std::int64_t s = 0; s < columns; ++s) out(r, s) = sums[r][s];
        }
      }
    }
}

/// `count` reflections: I - v T vᵀ for v [rows, count], which has ones on its diagonal and zeros above, and T [count,
/// count], which has zeros below its diagonal.
struct Reflections {
  std::int64_t rows, count;
  Matrix v, minus_t;
};

/// Makes column `j` of v the vector of the reflection that zeroes it below row j, and applies that to the later
/// columns. Returns its factor. `negative`: whether the remaining element in row j is negative.
double reflect_column(const Reflections& all, std::int64_t j, char& negative) {
  const Matrix v = all.v;
  double squares = 0;
  for (std::int64_t i = j; i < all.rows; ++i) squares += v(i, j) * v(i, j);
  const double first = v(j, j), length = std::sqrt(squares);
  negative = first > 0;
  const double left = negative ? -length : length;
  for (std::int64_t i = 0; i < j; ++i) v(i, j) = 0;
  v(j, j) = 1;
  if (length == 0) return 0;
  const double scale = 1 / (first - left), factor = (left - first) / left;
  for (std::int64_t i = j + 1; i < all.rows; ++i) v(i, j) *= scale;
  double along[block]{};
  for (std::int64_t i = j; i < all.rows; ++i)
    for (std::int64_t k = j + 1; k < all.count; ++k) along[k] += v(i, j) * v(i, k);
  for (std::int64_t i = j; i < all.rows; ++i)
    for (std::int64_t k = j + 1; k < all.count; ++k) v(i, k) -= factor * v(i, j) * along[k];
  return factor;
}

/// The reflections that zero `all.v` below its diagonal; `all.v` becomes their vectors.
void factorize(const Reflections& all, char* negative) {
  double factors[block], products[block * block]{};
  for (std::int64_t j = 0; j < all.count; ++j) factors[j] = reflect_column(all, j, negative[j]);
  const Matrix product{products, block};
  multiply_add(all.count, all.count, all.rows, all.v.transposed(), all.v, product);
  for (std::int64_t j = 0; j < all.count; ++j) {
    all.minus_t(j, j) = -factors[j];
    for (std::int64_t i = 0; i < j; ++i) {
      double sum = 0;
      for (std::int64_t k = i; k < j; ++k) sum += all.minus_t(i, k) * product(k, j);
      all.minus_t(i, j) = -factors[j] * sum;
    }
  }
}

/// Reflections to apply to c [rows, columns].
struct Application {
  Reflections reflections;
  Matrix c;
  std::int64_t columns;

  /// c += v · (minus_t · (vᵀ · c)) for some of the columns.
  void part(std::int64_t first) const {
    const auto& [rows, count, v, minus_t] = reflections;
    const std::int64_t width = std::min(part_columns, columns - first);
    double sums[block * part_columns]{}, changes[block * part_columns]{};
    const Matrix along{sums, part_columns}, change{changes, part_columns}, out = c.from(0, first);
    multiply_add(count, width, rows, v.transposed(), out, along);
    multiply_add(count, width, count, minus_t, along, change);
    multiply_add(rows, width, count, v, change, out);
  }
  void run() {
    const auto parts = static_cast<int>((columns + part_columns - 1) / part_columns);
    thread_pool().run(
        parts, [](void* all, int part) { static_cast<const Application*>(all)->part(part * part_columns); }, this);
  }
};

}  // namespace

void orthonormalize(std::span<double> a, std::int64_t rows, std::int64_t columns) {
  const Matrix all{a.data(), columns};
  const std::int64_t blocks = (columns + block - 1) / block;
  std::vector<double> vectors(static_cast<std::size_t>(rows * std::min(block, columns))),
      triangles(static_cast<std::size_t>(blocks * block * block));
  std::vector<char> negative(static_cast<std::size_t>(columns));
  const auto reflections = [&](std::int64_t first) {
    const std::int64_t count = std::min(block, columns - first);
    return Reflections{rows - first, count, {vectors.data(), count}, {triangles.data() + first * block, block}};
  };
  for (std::int64_t k = 0; k < columns; k += block) {
    const Reflections now = reflections(k);
    for (std::int64_t i = 0; i < now.rows; ++i) std::copy_n(&all(k + i, k), now.count, &now.v(i, 0));
    factorize(now, negative.data() + k);
    for (std::int64_t i = 0; i < now.rows; ++i) std::copy_n(&now.v(i, 0), now.count, &all(k + i, k));
    Reflections back = now;  // in the other order, from the first to the last
    back.minus_t = back.minus_t.transposed();
    Application{back, {&all(k, k) + now.count, columns}, columns - k - now.count}.run();
  }
  // Q is all reflections applied to the identity. They do not change the columns before a block.
  for (std::int64_t k = (blocks - 1) * block; k >= 0; k -= block) {
    const Reflections now = reflections(k);
    for (std::int64_t i = 0; i < now.rows; ++i) {
      std::copy_n(&all(k + i, k), now.count, &now.v(i, 0));
      std::fill_n(&all(k + i, k), i < now.count ? columns - k : now.count, 0.0);
      if (i < now.count) all(k + i, k + i) = 1;
    }
    Application{now, {&all(k, k), columns}, columns - k}.run();
  }
  for (std::int64_t j = 0; j < columns; ++j)
    if (negative[static_cast<std::size_t>(j)])
      for (std::int64_t i = 0; i < rows; ++i) all(i, j) = -all(i, j);
}

}  // namespace etude::initializers
