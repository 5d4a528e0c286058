#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "etude/base/tensor.hpp"

namespace etude {

/// The elements of a .npy file: as in memory, or of a type that is converted.
enum class NpyElement : std::uint8_t { same, boolean, float16, int8, int16, int64, uint16 };

/// The contents of the header of a .npy file. Source: numpy/lib/format.py, versions 1 to 3.
struct NpyFormat {
  Shape shape;
  /// After conversion.
  DType dtype = DType::float32;
  NpyElement element = NpyElement::same;
  /// Bytes of an element in the file.
  std::size_t element_size = 0;
  /// The place of the first element.
  std::size_t begin = 0;

  /// Converts elements. Throws Error(data), which begins with `where`, for an int64 out of int32's range and for a bool
  /// that is neither 0 nor 1.
  void convert(const std::byte* in, std::int64_t count, std::byte* out, std::string_view where) const;
};

/// Fills its argument with the next bytes of a file, of which there are enough.
using NpyBytes = std::function<void(std::span<std::byte>)>;

/// Reads the header of a file of `size` bytes. Throws Error(data), which begins with `where`, if the file is
/// incomplete, not in C order, or of another byte order or element type.
NpyFormat read_npy_format(const NpyBytes& next, std::uint64_t size, std::string_view where);
/// Reads the elements that follow, piece by piece. Throws as NpyFormat::convert does.
Tensor read_npy_elements(const NpyFormat& format, const NpyBytes& next, std::string_view where);

}  // namespace etude
