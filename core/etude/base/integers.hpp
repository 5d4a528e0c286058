#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace etude {

/// An option that a caller passes as one integer or as several, as in Keras: axis = -1, or {1, 2}. Empty: none.
class Integers {
 public:
  Integers() = default;
  /// One number.
  Integers(std::int64_t one) : all_{one} {}
  /// Several numbers.
  Integers(std::initializer_list<std::int64_t> several) : all_(several) {}
  Integers(std::vector<std::int64_t> several) : all_(std::move(several)) {}

  /// Whether there is none.
  bool empty() const { return all_.empty(); }
  /// The numbers.
  const std::vector<std::int64_t>& all() const { return all_; }
  /// "-1", "[1, 2]", or nothing.
  std::string to_string() const {
    std::string text;
    for (const std::int64_t number : all_) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return all_.size() > 1 ? '[' + text + ']' : text;
  }
  friend bool operator==(const Integers&, const Integers&) = default;

 private:
  std::vector<std::int64_t> all_;
};

inline std::ostream& operator<<(std::ostream& out, const Integers& integers) { return out << integers.to_string(); }

}  // namespace etude
