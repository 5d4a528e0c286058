#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etude::testing {

/// The most that a target may ask for at once; what it may ask for and take for an empty input, unless it says
/// otherwise. All these shares are several times what was measured under sanitizers; etude_tests '[fuzz_costs]'
/// measures.
constexpr std::size_t request_limit = std::size_t{1} << 20, free_bytes = std::size_t{1} << 17;
constexpr double free_seconds = 0.1;

/// A reader of bytes from outside, for fuzzers: the same function for libFuzzer and for the tests.
struct FuzzTarget {
  const char* name;
  /// Reads the bytes. Throws Error or bad_alloc for what it refuses.
  void (*read)(std::string_view bytes);
  /// Good inputs, written by our own writers where there are some.
  std::vector<std::string> (*samples)();
  /// Input whose lengths and checksums hold again, so that what lies behind them is read; null where a format has none.
  std::string (*repaired)(const std::string& bytes);
  /// How many bytes it may ask for, in all, for each byte of input, besides `fixed_bytes`.
  std::size_t bytes_per_byte;
  /// How many nanoseconds of CPU time it may take for each byte of input, besides `free_seconds`.
  double nanoseconds_per_byte;
  /// How many bytes it may ask for whatever the input is.
  std::size_t fixed_bytes = free_bytes;
};

/// All of them.
std::span<const FuzzTarget> fuzz_targets();
/// Throws std::invalid_argument for a name that is none of theirs.
const FuzzTarget& fuzz_target(std::string_view name);

/// What came of one input: whether an Error or bad_alloc refused it, how many bytes of memory the target asked for, and
/// how many seconds of CPU time it took; 0 in WebAssembly, which has no such clock.
struct FuzzOutcome {
  bool refused;
  std::size_t bytes;
  double seconds;
};
/// Gives the bytes to a target. Throws what else it throws.
FuzzOutcome outcome_of(const FuzzTarget& target, std::string_view bytes);

/// Gives the bytes to a target and says whether they were refused. Throws what else it throws, and std::length_error
/// where it asks for more memory, or each of three times takes more CPU time, than its share.
bool is_refused_by(const FuzzTarget& target, std::string_view bytes);

}  // namespace etude::testing
