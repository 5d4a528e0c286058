#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "etude/base/task.hpp"
#include "etude/base/tensor.hpp"

namespace etude {

/// An array whose rows are read when they are needed: a file, a database, anything that knows its shape. Read by one
/// thread at a time.
class ArrayLike {
 public:
  virtual ~ArrayLike() = default;
  /// [rows, …]
  virtual const Shape& shape() const = 0;
  /// The element type.
  virtual DType dtype() const = 0;
  /// Copies rows [first, last) to `out`, which has room for them. Throws what goes wrong.
  virtual void read(std::int64_t first, std::int64_t last, std::byte* out) const = 0;
  /// Copies the rows that `indices` name, in this order. As given here it reads each run of neighbours at once.
  virtual void gather(std::span<const std::int64_t> indices, std::byte* out) const;
  /// The same for an array that has to be waited for. `indices` and `out` live until it is done.
  virtual Task<> fetch(std::span<const std::int64_t> indices, std::byte* out) const;
  /// Whether `fetch` may have to wait for an event loop.
  virtual bool asynchronous() const { return false; }

  /// Which entries of those rows are there, for an input whose rows are padded: bool [rows, steps]. No tensor: all are.
  virtual Tensor mask_of(std::span<const std::int64_t>) const { return {}; }

  /// The number of rows.
  std::int64_t rows() const { return shape()[0]; }
  /// Bytes of one row.
  std::size_t row_bytes() const;
};
using ArrayLikePtr = std::shared_ptr<const ArrayLike>;

/// Throws Error(data) unless there is an array, of one axis at least.
void check_array_like(const ArrayLikePtr& array, std::string_view where);

}  // namespace etude
