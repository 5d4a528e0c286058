#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace etude {

/// Copies rows of `size` bytes, in `order`, one after the other.
void copy_rows(const std::byte* in, std::byte* out, std::span<const std::int64_t> order, std::size_t size);

}  // namespace etude
