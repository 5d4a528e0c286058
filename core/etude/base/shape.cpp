#include "etude/base/shape.hpp"

#include <algorithm>
#include <ostream>

#include "etude/base/error.hpp"

namespace etude {

Shape::Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const std::int64_t> dims) : rank_(dims.size()) {
  check(dims.size() <= max_rank, ErrorKind::shape, "Shape", dims.size(), " axes - expected at most ", max_rank,
        " - merge axes with reshape.");
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

std::size_t Shape::index_of(std::ptrdiff_t axis) const {
  const std::ptrdiff_t index = axis < 0 ? axis + static_cast<std::ptrdiff_t>(rank_) : axis;
  check(index >= 0 && index < static_cast<std::ptrdiff_t>(rank_), ErrorKind::shape, "Shape", "axis ", axis,
        " of the shape ", *this, " - expected one of its axes - check the rank.");
  return static_cast<std::size_t>(index);
}

std::int64_t Shape::operator[](std::ptrdiff_t axis) const { return dims_[index_of(axis)]; }

std::int64_t& Shape::operator[](std::ptrdiff_t axis) { return dims_[index_of(axis)]; }

std::int64_t Shape::size() const {
  // An extent of 0 does not hide an overflow of the others, as in NumPy: products of some axes must not overflow
  // either.
  std::int64_t product = 1;
  bool empty = false, fits = true;
  for (const std::int64_t extent : *this) {
    empty |= extent == 0;
    if (extent != 0) fits &= !__builtin_mul_overflow(product, extent, &product);
  }
  check(fits, ErrorKind::shape, "Shape", *this, " - expected less than 2^63 elements - choose smaller extents.");
  return empty ? 0 : product;
}

void Shape::append(std::int64_t extent) {
  check(rank_ < max_rank, ErrorKind::shape, "Shape", rank_ + 1, " axes - expected at most ", max_rank,
        " - merge axes with reshape.");
  dims_[rank_++] = extent;
}

Shape Shape::without(std::ptrdiff_t axis) const {
  const std::size_t gone = this->axis(axis, "Shape");
  Shape result;
  for (std::size_t i = 0; i < rank_; ++i)
    if (i != gone) result.append(dims_[i]);
  return result;
}

Shape Shape::with(std::size_t axis, std::int64_t extent) const {
  Shape result;
  for (std::size_t i = 0; i <= rank_; ++i) {
    if (i == axis) result.append(extent);
    if (i < rank_) result.append(dims_[i]);
  }
  return result;
}

Shape Shape::slice(std::size_t first, std::size_t last) const {
  return Shape(std::span<const std::int64_t>(dims_.data() + first, last - first));
}

std::size_t Shape::axis(std::ptrdiff_t axis, std::string_view where) const {
  const auto rank = static_cast<std::ptrdiff_t>(rank_);
  check(axis >= -rank && axis < rank, ErrorKind::shape, where, "axis ", axis, " of a tensor of shape ", *this,
        " - expected an axis from ", -rank, " to ", rank - 1, " - pass one of its axes.");
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (const std::int64_t extent : *this) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + ']';
}

bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }

Shape broadcast_shapes(const Shape& a, const Shape& b, std::string_view where) {
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (std::ptrdiff_t i = 1; i <= static_cast<std::ptrdiff_t>(shorter.rank()); ++i) {
    const std::int64_t p = longer[-i], q = shorter[-i];
    check(p == q || p == 1 || q == 1, ErrorKind::shape, where, "shapes ", a, " and ", b,
          " - expected axes that are equal or 1, counted from the last - reshape one of them.");
    result[-i] = p == 1 ? q : p;
  }
  return result;
}

}  // namespace etude
