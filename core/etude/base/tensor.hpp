#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "etude/base/dtype.hpp"
#include "etude/base/error.hpp"
#include "etude/base/shape.hpp"

namespace etude {

/// Data on the host: shape, dtype and contiguous row-major bytes. Copies share the bytes, as NumPy's views do; `clone`
/// copies them.
class Tensor {
 public:
  Tensor() = default;
  /// Zeros.
  explicit Tensor(const Shape& shape, DType dtype = DType::float32);

  /// Uninitialized elements, all of which the caller sets.
  static Tensor uninitialized(const Shape& shape, DType dtype);

  /// A copy of `values`, which must hold exactly shape.size() elements.
  template <class T> static Tensor from(const Shape& shape, std::span<const T> values) {
    Tensor tensor = uninitialized(shape, dtype_of<T>);
    tensor.fill_from(values.data(), values.size() * sizeof(T));
    return tensor;
  }
  /// The same from a vector.
  template <class T> static Tensor from(const Shape& shape, const std::vector<T>& values) {
    return from(shape, std::span<const T>(values));
  }
  /// The same from a list in braces.
  template <class T> static Tensor from(const Shape& shape, std::initializer_list<T> values) {
    return from(shape, std::span<const T>(values.begin(), values.size()));
  }
  /// A view of memory that `owner` keeps alive, without a copy.
  static Tensor borrow(const Shape& shape, DType dtype, void* bytes, std::shared_ptr<void> owner = {});

  /// The extents.
  const Shape& shape() const { return shape_; }
  /// The element type.
  DType dtype() const { return dtype_; }
  /// The number of elements.
  std::int64_t size() const { return shape_.size(); }
  /// The bytes of all elements.
  std::size_t bytes() const { return static_cast<std::size_t>(size()) * size_of(dtype_); }
  /// False for a default-constructed Tensor, which has no data.
  explicit operator bool() const { return data_ != nullptr; }

  /// The first byte.
  std::byte* raw() { return data_.get(); }
  const std::byte* raw() const { return data_.get(); }
  /// The elements; throws Error(dtype) if T is not the dtype.
  template <class T> std::span<T> data() {
    require(dtype_of<T>);
    return {reinterpret_cast<T*>(data_.get()), static_cast<std::size_t>(size())};
  }
  /// The same for reading only.
  template <class T> std::span<const T> data() const {
    require(dtype_of<T>);
    return {reinterpret_cast<const T*>(data_.get()), static_cast<std::size_t>(size())};
  }

  /// Element `index` of the flattened tensor, as a double.
  double at(std::int64_t index) const;
  /// The value of a tensor of one element.
  double item() const;

  /// A copy with separate bytes.
  Tensor clone() const;
  /// A view of the same bytes in another shape with as many elements.
  Tensor reshape(const Shape& shape) const;
  /// A view of rows [begin, end) of axis 0.
  Tensor rows(std::int64_t begin, std::int64_t end) const;
  /// Itself if it has this dtype, else a converted copy.
  Tensor astype(DType dtype) const;

 private:
  void require(DType dtype) const;
  void fill_from(const void* values, std::size_t bytes);

  Shape shape_{0};
  DType dtype_ = DType::float32;
  std::shared_ptr<std::byte> data_;
};

/// Writes `numbers` to `out`, each converted to `dtype` by static_cast.
void write_numbers(std::span<const double> numbers, DType dtype, std::byte* out);

}  // namespace etude
