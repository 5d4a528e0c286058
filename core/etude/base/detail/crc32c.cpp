#include "etude/base/detail/crc32c.hpp"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace etude {
namespace {

/// [k][b]: the contribution of byte b if k bytes follow it.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

/// Computed by the program: a page would download all 8 kB of it, which no compressor makes smaller.
Tables make_tables() {
  Tables result{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    result[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = result[k - 1][byte];
      result[k][byte] = crc >> 8 ^ result[0][crc & 0xFF];
    }
  return result;
}

std::uint32_t add_byte(const Tables& tables, std::uint32_t crc, char byte) {
  return crc >> 8 ^ tables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
}

std::uint64_t word_at(const char* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

std::uint32_t add_by_table(std::uint32_t crc, const char* bytes, std::size_t count) {
  static const Tables tables = make_tables();
  if constexpr (std::endian::native == std::endian::little)
    for (; count >= 8; bytes += 8, count -= 8) {
      const std::uint64_t word = word_at(bytes) ^ crc;
      crc = 0;
      for (std::size_t i = 0; i < 8; ++i) crc ^= tables[7 - i][word >> 8 * i & 0xFF];
    }
  for (; count; ++bytes, --count) crc = add_byte(tables, crc, *bytes);
  return crc;
}

#if defined(__x86_64__)

[[gnu::target("sse4.2")]] std::uint32_t add_by_instruction(std::uint32_t crc, const char* bytes, std::size_t count) {
  std::uint64_t wide = crc;
  for (; count >= 8; bytes += 8, count -= 8) wide = _mm_crc32_u64(wide, word_at(bytes));
  crc = static_cast<std::uint32_t>(wide);
  for (; count; ++bytes, --count) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*bytes));
  return crc;
}

std::uint32_t add_bytes(std::uint32_t crc, const char* bytes, std::size_t count) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  return has_instruction ? add_by_instruction(crc, bytes, count) : add_by_table(crc, bytes, count);
}

#elif defined(__ARM_FEATURE_CRC32)

std::uint32_t add_bytes(std::uint32_t crc, const char* bytes, std::size_t count) {
  for (; count >= 8; bytes += 8, count -= 8) crc = __crc32cd(crc, word_at(bytes));
  for (; count; ++bytes, --count) crc = __crc32cb(crc, static_cast<unsigned char>(*bytes));
  return crc;
}

#else

std::uint32_t add_bytes(std::uint32_t crc, const char* bytes, std::size_t count) {
  return add_by_table(crc, bytes, count);
}

#endif

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  return ~add_bytes(~before, bytes.data(), bytes.size());
}

std::uint32_t detail::crc32c_by_table(std::string_view bytes, std::uint32_t before) {
  return ~add_by_table(~before, bytes.data(), bytes.size());
}

}  // namespace etude
