#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace etude {

/// A number as another type. Floats outside the range of int32, and NaN, become its lowest value on every target: it is
/// no valid label or index.
template <class To, class From> To converted(From x) {
  if constexpr (std::is_same_v<To, std::int32_t> && std::is_floating_point_v<From>)
    return x > From(-0x1p31) && x < From(0x1p31) ? static_cast<To>(x) : std::numeric_limits<To>::lowest();
  else
    return static_cast<To>(x);
}

}  // namespace etude
