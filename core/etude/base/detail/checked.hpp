#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

/// Checked arithmetic of sizes from callers. An overflow of int64 is an Error(value) with both numbers; `where` begins
/// its text.
namespace etude::checked {

std::int64_t add(std::int64_t a, std::int64_t b, std::string_view where);
std::int64_t subtract(std::int64_t a, std::int64_t b, std::string_view where);
std::int64_t multiply(std::int64_t a, std::int64_t b, std::string_view where);

/// a · b and a + b of nonnegative numbers, limited to the largest int64.
constexpr std::int64_t multiply_or_most(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}
constexpr std::int64_t add_or_most(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

}  // namespace etude::checked
