#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etude::testing {

/// The largest single allocation of a target, and the memory and CPU time for an empty input, by default. All these
/// bounds are several times the values measured under sanitizers; etude_tests '[fuzz_costs]' measures them.
constexpr std::size_t request_limit = std::size_t{1} << 20, free_bytes = std::size_t{1} << 17;
constexpr double free_seconds = 0.1;

/// A reader of untrusted bytes, for fuzzers: the same function for libFuzzer and for the tests.
struct FuzzTarget {
  const char* name;
  /// Reads the bytes. Throws Error or bad_alloc for rejected ones.
  void (*read)(std::string_view bytes);
  /// Valid inputs, from our own writers if they exist.
  std::vector<std::string> (*samples)();
  /// The input with corrected lengths and checksums, so that the rest is read; null if a format has none.
  std::string (*repaired)(const std::string& bytes);
  /// The bytes that it may allocate in total for each byte of input, besides `fixed_bytes`.
  std::size_t bytes_per_byte;
  /// The nanoseconds of CPU time that it may take for each byte of input, besides `fixed_seconds`.
  double nanoseconds_per_byte;
  /// The bytes that it may allocate for any input.
  std::size_t fixed_bytes = free_bytes;
  /// The seconds of CPU time that it may take for any input.
  double fixed_seconds = free_seconds;
};

/// All targets.
std::span<const FuzzTarget> fuzz_targets();
/// The target of a name. Throws std::invalid_argument for an unknown name.
const FuzzTarget& fuzz_target(std::string_view name);

/// The result of one input: whether an Error or bad_alloc rejected it, the bytes of memory that the target allocated,
/// and the seconds of CPU time that it took; 0 in WebAssembly, which has no such clock.
struct FuzzOutcome {
  bool refused;
  std::size_t bytes;
  double seconds;
};
/// Passes the bytes to a target. Throws the target's other exceptions.
FuzzOutcome outcome_of(const FuzzTarget& target, std::string_view bytes);

/// Passes the bytes to a target and returns whether they were rejected. Throws the target's other exceptions, and
/// std::length_error if it allocates more memory than its bound, or exceeds its CPU time three times.
bool is_refused_by(const FuzzTarget& target, std::string_view bytes);

}  // namespace etude::testing
