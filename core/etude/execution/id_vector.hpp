#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etude {

/// A vector indexed by the number of a node or a group. These numbers are signed; -1 means none.
template <class T> class IdVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  decltype(auto) operator[](std::int32_t id) { return std::vector<T>::operator[](static_cast<std::size_t>(id)); }
  decltype(auto) operator[](std::int32_t id) const { return std::vector<T>::operator[](static_cast<std::size_t>(id)); }
};

/// A flag for each node or group: 0 or 1. A std::vector<bool> compiles to more code.
using IdFlags = IdVector<std::uint8_t>;

}  // namespace etude
