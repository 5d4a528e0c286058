#include "etude/data/composite.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {
namespace {

void check_splits(const std::vector<std::int64_t>& splits, std::int64_t entries, std::string_view where) {
  const bool sound =
      !splits.empty() && splits.front() == 0 && splits.back() == entries && std::ranges::is_sorted(splits);
  check(sound, ErrorKind::shape, where, splits.size(), " row_splits for ", entries,
        " entries - expected rows + 1 numbers that rise from 0 to the number of entries - check row_splits.");
}

}  // namespace

CsrMatrix::CsrMatrix(std::int64_t columns, Tensor values, std::vector<std::int64_t> column_of,
                     std::vector<std::int64_t> row_splits)
    : shape_{std::ssize(row_splits) - 1, columns},
      values_(std::move(values)),
      columns_(std::move(column_of)),
      splits_(std::move(row_splits)) {
  constexpr const char* where = "CsrMatrix";
  check(columns >= 0, ErrorKind::shape, where, columns, " columns - expected 0 or more - pass their number.");
  check_splits(splits_, values_.size(), where);
  check(std::ssize(columns_) == values_.size(), ErrorKind::shape, where, columns_.size(), " columns for ",
        values_.size(), " values - expected one for each value - check the columns.");
  for (const std::int64_t column : columns_)
    check(column >= 0 && column < columns, ErrorKind::shape, where, "column ", column, " of ", columns,
          " - expected an existing column - check the columns.");
}

void CsrMatrix::read(std::int64_t first, std::int64_t last, std::byte* out) const {
  const std::int64_t width = shape_[1];
  std::memset(out, 0, static_cast<std::size_t>(last - first) * row_bytes());
  visit_dtype(dtype(), [&]<class T>(T) {
    const T* values = reinterpret_cast<const T*>(values_.raw());
    T* dense = reinterpret_cast<T*>(out);
    for (std::int64_t row = first; row < last; ++row, dense += width)
      for (auto i = static_cast<std::size_t>(splits_[static_cast<std::size_t>(row)]);
           i < static_cast<std::size_t>(splits_[static_cast<std::size_t>(row) + 1]); ++i)
        dense[columns_[i]] = static_cast<T>(dense[columns_[i]] + values[i]);
  });
}

RaggedTensor::RaggedTensor(Tensor values, std::vector<std::int64_t> row_splits)
    : values_(std::move(values)), splits_(std::move(row_splits)) {
  check(values_.shape().rank() > 0, ErrorKind::shape, "RaggedTensor",
        "a scalar - expected values of shape [entries, ...] - reshape them.");
  check_splits(splits_, values_.shape()[0], "RaggedTensor");
  const std::int64_t rows = std::ssize(splits_) - 1;
  std::int64_t longest = 0;
  for (std::int64_t row = 0; row < rows; ++row) longest = std::max(longest, length(row));
  shape_ = values_.shape().with(0, rows);
  shape_[1] = longest;
}

std::int64_t RaggedTensor::length(std::int64_t row) const {
  return splits_[static_cast<std::size_t>(row) + 1] - splits_[static_cast<std::size_t>(row)];
}

void RaggedTensor::read(std::int64_t first, std::int64_t last, std::byte* out) const {
  const std::size_t size = row_bytes(), entry = shape_[1] ? size / static_cast<std::size_t>(shape_[1]) : 0;
  std::memset(out, 0, static_cast<std::size_t>(last - first) * size);
  for (std::int64_t row = first; row < last; ++row, out += size)
    if (length(row))
      std::memcpy(out, values_.raw() + static_cast<std::size_t>(splits_[static_cast<std::size_t>(row)]) * entry,
                  static_cast<std::size_t>(length(row)) * entry);
}

Tensor RaggedTensor::mask_of(std::span<const std::int64_t> rows) const {
  Tensor mask(Shape{std::ssize(rows), shape_[1]}, DType::boolean);
  std::byte* out = mask.raw();
  for (const std::int64_t row : rows) {
    std::fill_n(out, length(row), std::byte{1});
    out += shape_[1];
  }
  return mask;
}

}  // namespace etude
