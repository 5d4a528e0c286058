#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "etude/base/error.hpp"

namespace etude {

/// A position in data: some numbers. They are valid only for the object that returned them, over the same data.
using DataState = std::vector<std::int64_t>;

/// Throws Error(value) unless there are `count` numbers, none negative.
inline void check_state(const DataState& state, std::size_t count, std::string_view where) {
  bool sound = state.size() == count;
  for (const std::int64_t number : state) sound = sound && number >= 0;
  check(sound, ErrorKind::value, where, "a state of ", state.size(), " numbers - expected ", count,
        " of 0 or more, the result of state() - restore it into data of the same kind.");
}

/// A state that begins with a seed, as two numbers that JavaScript represents exactly, and that seed.
inline DataState with_seed(std::uint64_t seed, const DataState& rest) {
  DataState state{static_cast<std::int64_t>(seed >> 32), static_cast<std::int64_t>(seed & 0xFFFFFFFF)};
  state.insert(state.end(), rest.begin(), rest.end());
  return state;
}
/// The seed of a state that with_seed made.
inline std::uint64_t seed_in(const DataState& state) {
  return static_cast<std::uint64_t>(state[0]) << 32 | static_cast<std::uint64_t>(state[1]);
}

}  // namespace etude
