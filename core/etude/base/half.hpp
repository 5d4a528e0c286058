#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

/// Numbers of 16 bits: the storage of half precision. They convert from and to numbers; arithmetic is in float32.
/// Programs that are compiled for a GPU include this file's text.
namespace etude {

/// IEEE 754 binary16: 11 digits, from 6e-8 to 65504.
struct Float16 {
  /// The 16 bits of the number.
  std::uint16_t bits = 0;

  constexpr Float16() = default;
  /// The nearest number, ties to even; infinite from 65520 on.
  template <std::convertible_to<float> T> constexpr explicit Float16(T x) : bits(nearest(static_cast<float>(x))) {}
  /// The same number in float32, exactly.
  constexpr operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
    // Below the smallest normal number, units of the fraction.
    if (magnitude < 0x400)
      return std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f) | sign);
    const std::uint32_t exponent = magnitude >= 0x7C00 ? 0xFFu - 0x1Fu : 0x7Fu - 0x0Fu;
    return std::bit_cast<float>(sign | ((exponent << 23) + (magnitude << 13)));
  }

 private:
  static constexpr std::uint16_t nearest(float x) {
    const std::uint32_t all = std::bit_cast<std::uint32_t>(x), magnitude = all & 0x7FFFFFFF;
    const auto sign = static_cast<std::uint16_t>(all >> 16 & 0x8000);
    if (magnitude > 0x7F800000) return sign | 0x7E00;
    if (magnitude >= 0x477FF000) return sign | 0x7C00;  // 65520
    if (magnitude < 0x38800000) {                       // 2^-14: multiples of 2^-24, to which an addition rounds
      const float sum = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<std::uint16_t>(sign |
                                        (std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f)));
    }
    const std::uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return static_cast<std::uint16_t>(sign | ((rounded >> 13) - ((0x7F - 0x0F) << 10)));
  }
};

/// float32 without its last 16 bits: 8 digits, the same range.
struct BFloat16 {
  /// The 16 bits of the number.
  std::uint16_t bits = 0;

  constexpr BFloat16() = default;
  /// The nearest number, ties to even.
  template <std::convertible_to<float> T> constexpr explicit BFloat16(T x) : bits(nearest(static_cast<float>(x))) {}
  /// The same number in float32, exactly.
  constexpr operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

 private:
  static constexpr std::uint16_t nearest(float x) {
    const std::uint32_t all = std::bit_cast<std::uint32_t>(x);
    if ((all & 0x7FFFFFFF) > 0x7F800000) return static_cast<std::uint16_t>(all >> 16 | 0x40);
    return static_cast<std::uint16_t>((all + 0x7FFF + (all >> 16 & 1)) >> 16);
  }
};

}  // namespace etude
