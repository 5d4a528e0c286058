#include "etude/data/detail/copy_rows.hpp"

#include <cstring>

namespace etude {
namespace {

template <std::size_t known_size = 0>
void copy(const std::byte* in, std::byte* out, std::span<const std::int64_t> order, std::size_t size = known_size) {
  for (const std::int64_t row : order) {
    std::memcpy(out, in + static_cast<std::size_t>(row) * size, known_size ? known_size : size);
    out += size;
  }
}

}  // namespace

/// The usual sizes of labels are compiled to one move each.
void copy_rows(const std::byte* in, std::byte* out, std::span<const std::int64_t> order, std::size_t size) {
  switch (size) {
    case 1: return copy<1>(in, out, order);
    case 4: return copy<4>(in, out, order);
    case 8: return copy<8>(in, out, order);
    default: copy(in, out, order, size);
  }
}

}  // namespace etude
