#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace etude {

/// CRC-32C (Castagnoli) of bytes: 0xE3069283 for "123456789". `before` is that of the bytes that stand before them, so
/// that a sum can be made piece by piece. By the processor's own instruction where it has one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);
inline std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return crc32c(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), before);
}

namespace detail {

/// The same by tables: what processors without the instruction do.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before = 0);

}  // namespace detail
}  // namespace etude
