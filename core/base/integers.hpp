#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <utility>
#include <vector>

namespace etude {

/// What Keras lets a caller give as one whole number or as several: axis = -1, or {1, 2}. Empty: none.
class Integers {
 public:
  Integers() = default;
  Integers(std::int64_t one) : all_{one} {}
  Integers(std::initializer_list<std::int64_t> several) : all_(several) {}
  Integers(std::vector<std::int64_t> several) : all_(std::move(several)) {}

  bool empty() const { return all_.empty(); }
  const std::vector<std::int64_t>& all() const { return all_; }

 private:
  std::vector<std::int64_t> all_;
};

/// "-1", "[1, 2]", or nothing.
inline std::ostream& operator<<(std::ostream& out, const Integers& integers) {
  const auto& all = integers.all();
  if (all.size() == 1) return out << all.front();
  for (std::size_t i = 0; i < all.size(); ++i) out << (i ? ", " : "[") << all[i];
  return all.empty() ? out : out << ']';
}

}  // namespace etude
