#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace etude {

/// CRC-32C (Castagnoli) of bytes: 0xE3069283 for "123456789". `before` is the sum of the preceding bytes, so that a sum
/// can be computed piece by piece. Uses the processor's instruction if it has one.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);
inline std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return crc32c(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), before);
}

namespace detail {

/// The same by tables, for processors without the instruction.
std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t before = 0);

}  // namespace detail
}  // namespace etude
