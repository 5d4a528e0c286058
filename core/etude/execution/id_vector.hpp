#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etude {

/// A vector whose index is the number of a node or a group. These numbers are signed; -1 stands for none.
template <class T> class IdVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  decltype(auto) operator[](std::int32_t id) { return std::vector<T>::operator[](static_cast<std::size_t>(id)); }
  decltype(auto) operator[](std::int32_t id) const { return std::vector<T>::operator[](static_cast<std::size_t>(id)); }
};

/// A flag for each node or group: 0 or 1. The bits of a std::vector<bool> take more code.
using IdFlags = IdVector<std::uint8_t>;

}  // namespace etude
