#include "etude/data/npy.hpp"

#include <cstring>
#include <utility>

#include "etude/base/detail/mapped_file.hpp"
#include "etude/base/error.hpp"

namespace etude {

NpyFile::NpyFile(const std::string& path) : NpyFile(map_file(path), path) {}

NpyFile::NpyFile(std::shared_ptr<const std::span<const std::byte>> bytes, std::string where)
    : bytes_(std::move(bytes)), where_(std::move(where)) {
  std::size_t at = 0;
  const auto next = [&](std::span<std::byte> out) {
    if (!out.empty()) read_mapped(where_, [&] { std::memcpy(out.data(), bytes_->data() + at, out.size()); });
    at += out.size();
  };
  format_ = read_npy_format(next, bytes_->size(), where_);
}

void NpyFile::read(std::int64_t first, std::int64_t last, std::byte* out) const {
  const Shape& shape = format_.shape;
  check(first >= 0 && first <= last && shape.rank() > 0 && last <= rows(), ErrorKind::shape, where_, "rows ", first,
        " to ", last, " of shape ", shape, " - expected existing rows - check the range.");
  const std::int64_t each = shape.slice(1, shape.rank()).size(), count = (last - first) * each;
  const std::byte* in = bytes_->data() + format_.begin + static_cast<std::size_t>(first * each) * format_.element_size;
  read_mapped(where_, [&] { format_.convert(in, count, out, where_); });
}

Tensor NpyFile::all() const {
  Tensor result(format_.shape, format_.dtype);
  read_mapped(where_, [&] { format_.convert(bytes_->data() + format_.begin, result.size(), result.raw(), where_); });
  return result;
}

Tensor read_npy(const std::string& path) { return NpyFile(path).all(); }

Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where) {
  const auto borrowed = std::make_shared<const std::span<const std::byte>>(bytes);
  return NpyFile(borrowed, std::string(where)).all();
}

}  // namespace etude
