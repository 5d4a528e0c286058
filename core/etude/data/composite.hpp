#pragma once

#include <cstdint>
#include <vector>

#include "etude/data/array_like.hpp"

namespace etude {

/// A sparse matrix in compressed rows, as in scipy.sparse.csr_matrix. Its batches are dense.
class CsrMatrix : public ArrayLike {
 public:
  /// Row r has values[row_splits[r]] … values[row_splits[r + 1] - 1], in the columns at the same positions. Duplicate
  /// entries are added. `values` [entries]. Throws Error(shape) for columns that do not exist or a negative number of
  /// them, and for splits that do not go from 0 to the number of entries.
  CsrMatrix(std::int64_t columns, Tensor values, std::vector<std::int64_t> column_of,
            std::vector<std::int64_t> row_splits);

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return values_.dtype(); }
  void read(std::int64_t first, std::int64_t last, std::byte* out) const override;

 private:
  Shape shape_;
  Tensor values_;
  std::vector<std::int64_t> columns_, splits_;
};

/// Rows of different lengths, concatenated. A batch is padded at the end of its rows to the length of the longest row
/// of all, so that one plan suffices. Its mask [rows, steps] marks the entries that exist.
class RaggedTensor : public ArrayLike {
 public:
  /// Row r is values[row_splits[r]] … values[row_splits[r + 1] - 1]; `values` [entries, …]. Throws Error(shape) for
  /// splits that do not go from 0 to the number of entries.
  RaggedTensor(Tensor values, std::vector<std::int64_t> row_splits);

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return values_.dtype(); }
  /// Padded with zeros.
  void read(std::int64_t first, std::int64_t last, std::byte* out) const override;
  Tensor mask_of(std::span<const std::int64_t> rows) const override;

 private:
  std::int64_t length(std::int64_t row) const;

  Shape shape_;
  Tensor values_;
  std::vector<std::int64_t> splits_;
};

}  // namespace etude
