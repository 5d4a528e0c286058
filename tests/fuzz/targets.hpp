#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etude::testing {

/// A reader of bytes from outside, for fuzzers: the same function for libFuzzer and for the tests.
struct FuzzTarget {
  const char* name;
  /// Reads the bytes. Throws Error or bad_alloc for what it refuses.
  void (*read)(std::string_view bytes);
  /// Good inputs, written by our own writers where there are some.
  std::vector<std::string> (*samples)();
  /// Input whose lengths and checksums hold again, so that what lies behind them is read; null where a format has none.
  std::string (*repaired)(const std::string& bytes) = nullptr;
  /// How many bytes it may ask for, in all, for each byte of input; 0: what a config describes is bounded by
  /// `request_limit` alone.
  std::size_t bytes_per_byte = 0;
};

/// All of them.
std::span<const FuzzTarget> fuzz_targets();
/// Throws std::invalid_argument for a name that is none of theirs.
const FuzzTarget& fuzz_target(std::string_view name);

/// The most that a target may ask for at once, and what each may ask for besides its share.
constexpr std::size_t request_limit = std::size_t{1} << 20, free_bytes = std::size_t{1} << 17;

/// Gives the bytes to a target and says whether they were refused by an Error or bad_alloc. Throws what else it throws,
/// and std::length_error where it asks for more memory than its share.
bool is_refused_by(const FuzzTarget& target, std::string_view bytes);

}  // namespace etude::testing
