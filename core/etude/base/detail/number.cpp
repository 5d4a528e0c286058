#include "etude/base/detail/number.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace etude {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A decimal text: digits · 10^exponent, without leading and trailing zeros.
struct Decimal {
  bool negative = false;
  std::string_view digits;         // possibly with a point
  std::int64_t count = 0;          // of the digits, without the point
  std::int64_t exponent = 0;       // of the last digit
  std::uint64_t first_digits = 0;  // the number of the first 19 digits
};

constexpr int most_first_digits = 19;  // they fit into a uint64

/// Reads digits, with or without a point, from the front of `text`, and removes them. False if there are none.
bool take_digits(std::string_view& text, Decimal& decimal) {
  std::size_t size = 0, digits = 0, first = text.npos, last = 0;
  std::int64_t before_point = -1;  // digits in front of the point
  for (; size < text.size() && (is_digit(text[size]) || (text[size] == '.' && before_point < 0)); ++size) {
    if (text[size] == '.') {
      before_point = static_cast<std::int64_t>(digits);
      continue;
    }
    ++digits;
    if (text[size] == '0') continue;
    if (first == text.npos) first = size;
    last = size;
  }
  if (digits == 0) return false;
  const std::size_t point = before_point < 0 ? size : static_cast<std::size_t>(before_point);
  if (first != text.npos) {
    decimal.digits = text.substr(first, last + 1 - first);
    const bool inside = first < point && point < last;
    decimal.count = static_cast<std::int64_t>(decimal.digits.size()) - inside;
    decimal.exponent = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(last) - (last < point);
  }
  text.remove_prefix(size);
  return true;
}

/// Reads "e-12" or nothing, up to the end of `text`. Exponents of 10^15 and more are limited.
std::optional<std::int64_t> exponent_of(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  std::int64_t exponent = 0;
  for (const char c : text)
    exponent = std::min<std::int64_t>(exponent * 10 + (c - '0'), std::int64_t{1'000'000'000'000'000});
  return negative ? -exponent : exponent;
}

std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal decimal;
  decimal.negative = text.starts_with('-');
  if (decimal.negative || text.starts_with('+')) text.remove_prefix(1);
  if (!take_digits(text, decimal)) return std::nullopt;
  const std::optional<std::int64_t> exponent = exponent_of(text);
  if (!exponent) return std::nullopt;
  decimal.exponent += *exponent;
  int taken = 0;
  for (const char c : decimal.digits) {
    if (c == '.') continue;
    if (taken++ == most_first_digits) break;
    decimal.first_digits = decimal.first_digits * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return decimal;
}

/// An integer of up to some thousand bits, as words from the lowest on.
class Big {
 public:
  void multiply_add(std::uint32_t factor, std::uint32_t more) {
    std::uint64_t carry = more;
    for (std::size_t i = 0; i < size_; ++i) {
      carry += std::uint64_t{words_[i]} * factor;
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) words_[size_++] = static_cast<std::uint32_t>(carry);
  }
  void multiply_by_power_of_ten(std::int64_t power) {
    for (; power >= 9; power -= 9) multiply_add(1'000'000'000, 0);
    for (; power > 0; --power) multiply_add(10, 0);
  }
  void shift_left(std::int64_t bits) {
    const auto words = static_cast<std::size_t>(bits / 32);
    if (words > 0) {
      std::copy_backward(words_.begin(), words_.begin() + std::ptrdiff_t(size_),
                         words_.begin() + std::ptrdiff_t(size_ + words));
      std::fill_n(words_.begin(), words, 0u);
      size_ += words;
    }
    if (bits % 32) multiply_add(std::uint32_t{1} << (bits % 32), 0);
  }
  /// Subtracts `other`, if it is not larger.
  bool subtract_if_fits(const Big& other) {
    if (*this < other) return false;
    std::int64_t carry = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      carry += std::int64_t{words_[i]} - (i < other.size_ ? std::int64_t{other.words_[i]} : 0);
      words_[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    while (size_ > 0 && words_[size_ - 1] == 0) --size_;
    return true;
  }
  std::int64_t bits() const {
    return size_ == 0 ? 0 : static_cast<std::int64_t>(32 * size_) - std::countl_zero(words_[size_ - 1]);
  }
  bool operator<(const Big& other) const {
    if (size_ != other.size_) return size_ < other.size_;
    for (std::size_t i = size_; i-- > 0;)
      if (words_[i] != other.words_[i]) return words_[i] < other.words_[i];
    return false;
  }

 private:
  // Enough for numbers that are neither 0 nor infinite: 770 digits and 10^1200, each shifted to the other's length.
  std::array<std::uint32_t, 224> words_;
  std::size_t size_ = 0;
};

/// The format to round to: the bits of its significand, and the exponent of its lowest bit.
struct Format {
  int bits, lowest;
};
constexpr Format double_format{53, -1074}, float_format{24, -149};

/// Later digits cannot change a double, except by being nonzero.
constexpr std::int64_t most_digits = 770;

/// Rounds ⌊significand⌋ · 2^exponent to the nearest number of the format, ties to even. `inexact`: a remainder above 0
/// and below 1 is cut off.
double rounded(std::uint64_t significand, std::int64_t exponent, bool inexact, Format format) {
  const std::int64_t top = exponent + 63 - std::countl_zero(significand);
  const std::int64_t lowest = std::max<std::int64_t>(top - (format.bits - 1), format.lowest), drop = lowest - exponent;
  if (drop > 64) return 0;
  const std::uint64_t kept = drop == 64 ? 0 : significand >> drop, half = std::uint64_t{1} << (drop - 1);
  const std::uint64_t rest = significand & (half | (half - 1));
  const bool up = rest > half || (rest == half && (inexact || (kept & 1)));
  return std::ldexp(static_cast<double>(kept + up), static_cast<int>(lowest));
}

/// Long division of integers: 64 bits of the quotient, and whether there is a remainder.
double divided(const Decimal& decimal, Format format) {
  Big above, below;
  std::int64_t taken = 0;
  for (const char c : decimal.digits) {
    if (c == '.') continue;
    if (taken++ == most_digits) break;
    above.multiply_add(10, static_cast<std::uint32_t>(c - '0'));
  }
  std::int64_t exponent = decimal.exponent + decimal.count - std::min(decimal.count, most_digits);
  if (decimal.count > most_digits) {
    above.multiply_add(10, 1);
    --exponent;
  }
  below.multiply_add(1, 1);
  (exponent < 0 ? below : above).multiply_by_power_of_ten(std::abs(exponent));
  const std::int64_t more = above.bits() - below.bits();
  (more < 0 ? above : below).shift_left(std::abs(more));
  std::uint64_t quotient = 0;
  for (int bit = 0; bit < 64; ++bit) {
    quotient = quotient << 1 | static_cast<std::uint64_t>(above.subtract_if_fits(below));
    above.shift_left(1);
  }
  return rounded(quotient, more - 63, above.bits() > 0, format);
}

/// Infinity or 0, if the first digits and their count determine it; else empty.
std::optional<double> extreme(const Decimal& decimal) {
  const std::int64_t magnitude = decimal.count + decimal.exponent;  // below 10^magnitude
  if (decimal.digits.empty() || magnitude < -400) return 0.0;
  if (magnitude > 400) return std::numeric_limits<double>::infinity();
  return std::nullopt;
}

constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// At most two roundings, if the power of ten is exact; else empty.
std::optional<double> quick(const Decimal& decimal) {
  if (decimal.count > most_first_digits || std::abs(decimal.exponent) >= std::ssize(powers_of_ten)) return std::nullopt;
  const auto digits = static_cast<double>(decimal.first_digits);
  const double power = powers_of_ten[std::abs(decimal.exponent)];
  return decimal.exponent < 0 ? digits / power : digits * power;
}

double double_of(const Decimal& decimal) {
  if (const auto value = extreme(decimal)) return *value;
  // Digits that a double represents exactly are rounded once.
  const std::optional<double> value = quick(decimal);
  return value && decimal.first_digits <= std::uint64_t{1} << 53 ? *value : divided(decimal, double_format);
}

float float_of(const Decimal& decimal) {
  if (const auto value = extreme(decimal)) return static_cast<float>(*value);
  if (const std::optional<double> value = quick(decimal)) {
    // Three units in the last place away from the middle between two floats, the double is on the correct side of it.
    const std::uint64_t low = std::bit_cast<std::uint64_t>(*value) & 0x1FFFFFFF, middle = 0x10000000;
    if (std::max(low, middle) - std::min(low, middle) > 3) return static_cast<float>(*value);
  }
  return static_cast<float>(divided(decimal, float_format));
}

}  // namespace

std::optional<double> parse_double(std::string_view text) {
  const std::optional<Decimal> decimal = decimal_of(text);
  if (!decimal) return std::nullopt;
  const double value = double_of(*decimal);
  return decimal->negative ? -value : value;
}

std::optional<float> parse_float(std::string_view text) {
  const std::optional<Decimal> decimal = decimal_of(text);
  if (!decimal) return std::nullopt;
  const float value = float_of(*decimal);
  return decimal->negative ? -value : value;
}

std::string formatted(const char* format, double number) {
  if (std::isnan(number)) number = std::fabs(number);
  char buffer[32];  // short results need no allocation
  const auto size = static_cast<std::size_t>(std::max(std::snprintf(buffer, sizeof buffer, format, number), 0));
  std::string text(buffer, std::min(size, sizeof buffer - 1));
  if (size >= sizeof buffer) {
    text.resize(size + 1);
    std::snprintf(text.data(), text.size(), format, number);
    text.resize(size);
  }
  // The characters between two digits that are no exponent are the locale's decimal point, of one byte or several.
  const auto first = std::find_if(text.begin(), text.end(), is_digit);
  const auto begin = std::find_if_not(first, text.end(), is_digit);
  const auto end = std::find_if(begin, text.end(), is_digit);
  if (begin != end && end != text.end() && *begin != 'e' && *begin != 'E') {
    *begin = '.';
    text.erase(begin + 1, end);
  }
  return text;
}

std::string shortest(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text;
  int digits = 0;
  do {
    const char format[] = {'%', '.', static_cast<char>('0' + digits / 10), static_cast<char>('0' + digits % 10),
                           'e', 0};
    text = formatted(format, number);
  } while (parse_double(text) != number && ++digits < 17);
  // Python writes 0.0001 … 9999999999999998.0 without an exponent.
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return text;
  const std::string decimals = std::to_string(std::max(digits - exponent, 1));
  return formatted(("%." + decimals + 'f').c_str(), number);
}

}  // namespace etude
