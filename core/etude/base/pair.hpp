#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <string>

namespace etude {

/// An option that a caller passes as one number for both axes, height and width, or as one for each, as in Keras: 3, or
/// {3, 5}.
class Pair {
 public:
  /// The same number for both axes.
  Pair(int both) : numbers_{both, both} {}
  /// One number for each axis.
  Pair(std::int64_t height, std::int64_t width) : numbers_{height, width} {}

  /// The number for the rows.
  std::int64_t height() const { return numbers_[0]; }
  /// The number for the columns.
  std::int64_t width() const { return numbers_[1]; }
  /// Both, height first.
  const std::array<std::int64_t, 2>& numbers() const { return numbers_; }
  /// "3", or "[3, 5]".
  std::string to_string() const {
    const std::string first = std::to_string(height());
    return height() == width() ? first : '[' + first + ", " + std::to_string(width()) + ']';
  }
  friend bool operator==(const Pair&, const Pair&) = default;

 private:
  std::array<std::int64_t, 2> numbers_;
};

inline std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.to_string(); }

}  // namespace etude
