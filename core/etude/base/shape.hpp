#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

namespace etude {

/// The extents of a tensor, outermost first, at most eight; row-major. A scalar has rank 0.
class Shape {
 public:
  /// The largest rank.
  static constexpr std::size_t max_rank = 8;

  Shape() = default;
  /// A shape of these extents. Throws Error(shape) for more than max_rank.
  Shape(std::initializer_list<std::int64_t> dims);
  explicit Shape(std::span<const std::int64_t> dims);

  /// The number of axes.
  std::size_t rank() const { return rank_; }
  /// Extent of `axis`; a negative axis counts from the end. Throws Error(shape) if there is no such axis.
  std::int64_t operator[](std::ptrdiff_t axis) const;
  std::int64_t& operator[](std::ptrdiff_t axis);
  /// The number of elements; throws Error(shape) if the product of the extents other than 0 is 2^63 or more.
  std::int64_t size() const;

  /// The first extent.
  const std::int64_t* begin() const { return dims_.data(); }
  /// The end of the extents.
  const std::int64_t* end() const { return dims_.data() + rank_; }

  /// Adds an axis at the end. Throws Error(shape) if there are max_rank already.
  void append(std::int64_t extent);
  /// The same shape without `axis`.
  Shape without(std::ptrdiff_t axis) const;
  /// The same shape with `extent` inserted before `axis`.
  Shape with(std::size_t axis, std::int64_t extent) const;
  /// Axes [first, last).
  Shape slice(std::size_t first, std::size_t last) const;

  /// `axis` counted from the front; throws Error(shape) if there is no such axis.
  std::size_t axis(std::ptrdiff_t axis, std::string_view where) const;

  /// In Keras's format: "(32, 10)".
  std::string to_string() const;
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::size_t index_of(std::ptrdiff_t axis) const;

  std::array<std::int64_t, max_rank> dims_{};
  std::size_t rank_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// The shape to which both broadcast by NumPy's rule; throws Error(shape) with both.
Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view where);

}  // namespace etude
