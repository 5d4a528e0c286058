#pragma once

#include <cstdint>

#include "cuda/thread.hpp"

namespace etude::cuda {

/// A divisor that is known at the launch, but not when its kernel is compiled. Dividends are nonnegative. Below 2^31
/// the division is a multiplication by the reciprocal (Granlund and Montgomery, "Division by invariant integers using
/// multiplication"). A GPU needs many more steps to divide by a variable.
struct Divisor {
  std::int64_t by = 1;
  std::uint32_t multiplier = 1, shift = 0;

  constexpr Divisor() = default;
  /// A divisor of 0 counts as 1: then nothing is launched.
  constexpr Divisor(std::int64_t divisor) : by(divisor > 0 ? divisor : 1), multiplier(0), shift(31) {
    if (by > std::int64_t{1} << 31) return;  // dividends are less
    for (shift = 0; std::int64_t{1} << shift < by;) ++shift;
    const std::uint64_t of = static_cast<std::uint64_t>(by), power = std::uint64_t{1} << shift;
    multiplier = static_cast<std::uint32_t>(((power - of) << 32) / of + 1);
  }

  /// The quotient of a number below 2^31.
  ETUDE_DEVICE std::uint32_t quotient(std::uint32_t of) const {
    const auto high = static_cast<std::uint32_t>(std::uint64_t{of} * multiplier >> 32);
    return (high + of) >> shift;
  }
  ETUDE_DEVICE int quotient(int of) const { return static_cast<int>(quotient(static_cast<std::uint32_t>(of))); }
  ETUDE_DEVICE std::int64_t quotient(std::int64_t of) const {
    return of <= 0x7fffffff ? quotient(static_cast<std::uint32_t>(of)) : of / by;
  }

  /// Divides `of`, and returns the remainder.
  ETUDE_DEVICE int divide(int& of) const {
    const int whole = of;
    of = quotient(whole);
    return whole - of * static_cast<int>(by);
  }
  ETUDE_DEVICE std::int64_t divide(std::int64_t& of) const {
    const std::int64_t whole = of;
    if (whole > 0x7fffffff) {
      of = whole / by;
      return whole - of * by;
    }
    const auto narrow = static_cast<std::uint32_t>(whole), result = quotient(narrow);
    of = result;
    return narrow - result * static_cast<std::uint32_t>(by);
  }
};

}  // namespace etude::cuda
