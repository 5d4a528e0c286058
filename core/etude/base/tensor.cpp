#include "etude/base/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "etude/base/detail/converted.hpp"

namespace etude {
namespace {

constexpr std::size_t alignment = 64;

#ifdef MADV_HUGEPAGE
/// Allocations of at least this size use pages of that size, if the system has them. With pages of 4 KB, each row of a
/// matrix that a product reads costs a page table lookup.
constexpr std::size_t large_page = std::size_t{2} << 20;
#endif

std::shared_ptr<std::byte> allocate(std::size_t bytes) {
  std::size_t aligned = alignment;
#ifdef MADV_HUGEPAGE
  if (bytes >= large_page) aligned = large_page;
#endif
  auto* memory = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), std::align_val_t{aligned}));
#ifdef MADV_HUGEPAGE
  if (aligned == large_page) madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
#endif
  return {memory, [aligned](std::byte* p) { ::operator delete(p, std::align_val_t{aligned}); }};
}

}  // namespace

Tensor Tensor::uninitialized(const Shape& shape, DType dtype) {
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  auto wanted = static_cast<double>(size_of(dtype));  // a double does not wrap around
  for (std::int64_t extent : shape) {
    check(extent >= 0, ErrorKind::shape, "Tensor", "shape ", shape,
          " - expected extents of 0 or more - check the sizes.");
    wanted *= static_cast<double>(extent);
  }
  if (wanted > static_cast<double>(std::numeric_limits<std::ptrdiff_t>::max())) throw std::bad_alloc();
  tensor.data_ = allocate(tensor.bytes());
  return tensor;
}

Tensor::Tensor(const Shape& shape, DType dtype) : Tensor(uninitialized(shape, dtype)) {
  std::memset(data_.get(), 0, bytes());
}

Tensor Tensor::borrow(const Shape& shape, DType dtype, void* bytes, std::shared_ptr<void> owner) {
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.data_ = std::shared_ptr<std::byte>(std::move(owner), static_cast<std::byte*>(bytes));
  return tensor;
}

void Tensor::require(DType dtype) const {
  check(dtype == dtype_, ErrorKind::dtype, "Tensor", "read as ", dtype, " - the tensor holds ", dtype_,
        " - use astype first.");
}

void Tensor::fill_from(const void* values, std::size_t count) {
  check(count == bytes(), ErrorKind::shape, "Tensor", count / size_of(dtype_), " values for shape ", shape_,
        " - expected ", size(), " - check the shape.");
  if (count) std::memcpy(data_.get(), values, count);
}

double Tensor::at(std::int64_t index) const {
  check(index >= 0 && index < size(), ErrorKind::shape, "Tensor", "element ", index, " - the tensor has ", size(),
        " elements - pass a smaller index.");
  return visit_dtype(dtype_,
                     [&]<class T>(T) { return static_cast<double>(reinterpret_cast<const T*>(data_.get())[index]); });
}

double Tensor::item() const {
  check(size() == 1, ErrorKind::shape, "Tensor", "item() of a tensor of shape ", shape_,
        " - expected exactly one element - index it with at().");
  return at(0);
}

Tensor Tensor::clone() const {
  Tensor copy = uninitialized(shape_, dtype_);
  if (bytes()) std::memcpy(copy.raw(), raw(), bytes());
  return copy;
}

Tensor Tensor::reshape(const Shape& shape) const {
  check(shape.size() == size(), ErrorKind::shape, "Tensor", "reshape of ", shape_, " to ", shape, " - expected ",
        size(), " elements - check the shape.");
  Tensor view = *this;
  view.shape_ = shape;
  return view;
}

Tensor Tensor::rows(std::int64_t begin, std::int64_t end) const {
  check(shape_.rank() > 0 && begin >= 0 && begin <= end && end <= shape_[0], ErrorKind::shape, "Tensor", "rows ", begin,
        " to ", end, " of shape ", shape_, " - expected existing rows - check the range.");
  Tensor view = *this;
  view.shape_[0] = end - begin;
  const std::int64_t row = shape_[0] ? size() / shape_[0] : 0;
  const auto offset = static_cast<std::size_t>(begin * row) * size_of(dtype_);
  view.data_ = std::shared_ptr<std::byte>(data_, data_.get() + offset);
  return view;
}

Tensor Tensor::astype(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor result = uninitialized(shape_, dtype);
  // Converts through doubles, which represent the numbers of every dtype: two loops per dtype, not one per pair.
  double numbers[256];
  for (std::int64_t first = 0; first < size(); first += std::ssize(numbers)) {
    const std::int64_t count = std::min<std::int64_t>(size() - first, std::ssize(numbers));
    visit_dtype(dtype_, [&]<class From>(From) {
      const auto* in = reinterpret_cast<const From*>(data_.get()) + first;
      std::transform(in, in + count, numbers, [](From x) { return static_cast<double>(x); });
    });
    write_numbers({numbers, static_cast<std::size_t>(count)}, dtype,
                  result.raw() + static_cast<std::size_t>(first) * size_of(dtype));
  }
  return result;
}

void write_numbers(std::span<const double> numbers, DType dtype, std::byte* out) {
  visit_dtype(dtype, [&]<class T>(T) {
    std::ranges::transform(numbers, reinterpret_cast<T*>(out), [](double x) {
      if constexpr (std::is_same_v<T, std::uint8_t>)
        return static_cast<T>(converted<std::int32_t>(x));  // the last bits of the integer
      else
        return converted<T>(x);
    });
  });
}

}  // namespace etude
