#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "etude/data/array_like.hpp"
#include "etude/data/detail/npy_format.hpp"

namespace etude {

/// A file of NumPy (.npy), whose rows are read on demand; only the system's cache holds it in memory. float32, float64,
/// int32, uint8 and bool keep their dtype; float16 becomes float32; int8, int16, int64 and uint16 become int32. Source:
/// numpy/lib/format.py, versions 1 to 3.
class NpyFile : public ArrayLike {
 public:
  /// Throws Error(io) if the file cannot be read, Error(data) if it is incomplete, not in C order, or of another byte
  /// order or element type, such as objects, which NumPy pickles.
  explicit NpyFile(const std::string& path);
  /// The same from memory, which `bytes` owns. `where` names the source in errors.
  explicit NpyFile(std::shared_ptr<const std::span<const std::byte>> bytes, std::string where = "npy");

  const Shape& shape() const override { return format_.shape; }
  DType dtype() const override { return format_.dtype; }
  /// Throws Error(data) for an int64 out of int32's range and for a bool that is neither 0 nor 1, Error(io) if the file
  /// became shorter.
  void read(std::int64_t first, std::int64_t last, std::byte* out) const override;
  /// The whole array, which may be a scalar. Throws as read does.
  Tensor all() const;

 private:
  std::shared_ptr<const std::span<const std::byte>> bytes_;
  std::string where_;
  NpyFormat format_;
};

/// All of a .npy file.
Tensor read_npy(const std::string& path);
/// The same from memory.
Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where = "npy");

}  // namespace etude
