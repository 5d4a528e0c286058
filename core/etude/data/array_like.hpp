#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "etude/base/task.hpp"
#include "etude/base/tensor.hpp"

namespace etude {

/// An array whose rows are read on demand: a file, a database, any source with a known shape. One thread at a time
/// reads it.
class ArrayLike {
 public:
  virtual ~ArrayLike() = default;
  /// [rows, …]
  virtual const Shape& shape() const = 0;
  /// The element type.
  virtual DType dtype() const = 0;
  /// Copies rows [first, last) to `out`, which is large enough. Throws on failure.
  virtual void read(std::int64_t first, std::int64_t last, std::byte* out) const = 0;
  /// Copies the rows at `indices`, in this order. The default reads each run of consecutive rows at once.
  virtual void gather(std::span<const std::int64_t> indices, std::byte* out) const;
  /// The same for an array that must be awaited. `indices` and `out` stay valid until it is done.
  virtual Task<> fetch(std::span<const std::int64_t> indices, std::byte* out) const;
  /// Whether `fetch` may have to wait for an event loop.
  virtual bool asynchronous() const { return false; }

  /// The mask of these rows, for an input with padded rows: bool [rows, steps], true for entries that exist. An empty
  /// tensor: all exist.
  virtual Tensor mask_of(std::span<const std::int64_t>) const { return {}; }

  /// The number of rows.
  std::int64_t rows() const { return shape()[0]; }
  /// Bytes of one row.
  std::size_t row_bytes() const;
};
using ArrayLikePtr = std::shared_ptr<const ArrayLike>;

/// Throws Error(data) for a null array and for an array without axes.
void check_array_like(const ArrayLikePtr& array, std::string_view where);

}  // namespace etude
