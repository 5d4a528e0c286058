#include "etude/data/array_like.hpp"

#include "etude/base/error.hpp"

namespace etude {

void ArrayLike::gather(std::span<const std::int64_t> indices, std::byte* out) const {
  const std::size_t size = row_bytes();
  for (std::size_t begin = 0, end = 0; begin < indices.size(); begin = end) {
    for (end = begin + 1; end < indices.size() && indices[end] == indices[end - 1] + 1;) ++end;
    read(indices[begin], indices[end - 1] + 1, out);
    out += (end - begin) * size;
  }
}

Task<> ArrayLike::fetch(std::span<const std::int64_t> indices, std::byte* out) const {
  gather(indices, out);
  co_return;
}

std::size_t ArrayLike::row_bytes() const {
  return static_cast<std::size_t>(shape().slice(1, shape().rank()).size()) * size_of(dtype());
}

void check_array_like(const ArrayLikePtr& array, std::string_view where) {
  check(array != nullptr && array->shape().rank() > 0, ErrorKind::data, where,
        "no array, or a scalar - expected shape [samples, ...] - pass such an array.");
}

}  // namespace etude
