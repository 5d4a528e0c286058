#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "etude/base/detail/number.hpp"
#include "support.hpp"

// Conversions between numbers and text, compared with the C library in the C locale.
namespace etude {
namespace {

using testing::draws;

/// Whether both have the same bits.
template <class T> bool same(T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

/// The texts that are read differently from the C library; empty if there are none.
std::string misread(const std::string& text) {
  const auto wide = parse_double(text);
  const auto narrow = parse_float(text);
  const bool ok = wide && narrow && same(*wide, std::strtod(text.c_str(), nullptr)) &&
                  same(*narrow, std::strtof(text.c_str(), nullptr));
  return ok ? "" : text;
}

std::string scientific(int digits, double number) {
  char text[2000];
  std::snprintf(text, sizeof text, "%.*e", digits, number);
  return text;
}

std::uint64_t random_bits(Random& random) {
  const std::uint64_t high = random.below(1u << 31), low = random.below(1u << 31), rest = random.below(4);
  return high << 33 | low << 2 | rest;
}

template <class T, class Bits> T number_of(Bits bits) {
  T number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

}  // namespace

TEST_CASE("a text with any digits and exponent is read as the nearest float and double", "[number]") {
  Random random = draws(1);
  for (int i = 0; i < 60000; ++i) {
    const auto wide = number_of<double>(random_bits(random));
    if (std::isfinite(wide)) REQUIRE(misread(scientific(static_cast<int>(random.below(20)), wide)) == "");
    std::string text;
    for (std::uint32_t count = 1 + random.below(25); count > 0; --count)
      text += static_cast<char>('0' + random.below(10));
    text.insert(random.below(static_cast<std::uint32_t>(text.size())), ".");
    if (random.below(2) != 0) text += 'e' + std::to_string(static_cast<int>(random.below(80)) - 40);
    REQUIRE(misread(text) == "");
  }
}

TEST_CASE("a number halfway between two is read as the even one, unless a further digit differs", "[number]") {
  Random random = draws(2);
  for (int i = 0; i < 5000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random_bits(random));
    const auto low = number_of<float>(bits), high = number_of<float>(bits + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    // Exact: a double represents the midpoint of two floats, and 160 digits represent it completely.
    std::string text = scientific(160, (static_cast<double>(low) + static_cast<double>(high)) / 2);
    REQUIRE(misread(text) == "");
    text.insert(text.find('e'), std::string(800, '0') + '1');
    REQUIRE(misread(text) == "");
  }
  // Around half of the smallest double, the midpoint between the largest one and 2^1024, and 2^53 + 1.
  for (const char* text : {"2.4703282292062327e-324", "2.4703282292062328e-324", "4.9e-324", "1.7976931348623157e308",
                           "1.7976931348623159e308", "9007199254740993", "9007199254740992.5", "1e23", "8.5e22"})
    CHECK(misread(text) == "");
}

TEST_CASE("signs, points and exponents are read as in C; other texts are not numbers", "[number]") {
  for (const char* text : {"0", "-0", "+1", ".5", "5.", "-.5e-3", "1E5", "1e+05", "000001", "0.0e10", "1e400", "-1e400",
                           "1e-400", "1e99999999999999999999", "1e-99999999999999999999"})
    CHECK(misread(text) == "");
  CHECK(misread("0." + std::string(5000, '0') + "1e5000") == "");
  std::string nines(5000, '9');
  nines += "e-4990";
  CHECK(misread(nines) == "");
  for (const char* text :
       {"", "+", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "inf", "nan", "1 ", " 1", "1,5", "1e5.0", "--1", "1e5x"})
    CHECK(!parse_double(text));
}

TEST_CASE("numbers are written as by printf in the C locale", "[number]") {
  Random random = draws(3);
  for (int i = 0; i < 5000; ++i) {
    const auto number = number_of<double>(random_bits(random));
    if (std::isnan(number)) continue;
    char text[400];
    const auto compare = [&](const char* format) { REQUIRE(formatted(format, number) == text); };
    std::snprintf(text, sizeof text, "%.4f", number);
    compare("%.4f");
    std::snprintf(text, sizeof text, "%.4e", number);
    compare("%.4e");
    std::snprintf(text, sizeof text, "%g", number);
    compare("%g");
    std::snprintf(text, sizeof text, "%.3g", number);
    compare("%.3g");
    std::snprintf(text, sizeof text, "%.0f", number);
    compare("%.0f");
    std::snprintf(text, sizeof text, "%12.3e", number);
    compare("%12.3e");
  }
  CHECK(formatted(" - %.0fs -", 12.4) == " - 12s -");
  CHECK(formatted("%08.3f", -1.5) == "-001.500");
  CHECK(formatted("%.4f", -std::nan("")) == "nan");
  CHECK(formatted("%.1f", -std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("the shortest text of a number reads back as the same number, in Python's notation", "[number]") {
  Random random = draws(4);
  for (int i = 0; i < 5000; ++i) {
    const auto number = number_of<double>(random_bits(random));
    if (std::isfinite(number)) REQUIRE(parse_double(shortest(number)) == number);
  }
  // repr() of Python 3.11.
  CHECK(shortest(0.1) == "0.1");
  CHECK(shortest(2) == "2.0");
  CHECK(shortest(1e-5) == "1e-05");
  CHECK(shortest(1.0 / 3) == "0.3333333333333333");
  CHECK(shortest(9999999999999998.0) == "9999999999999998.0");
  CHECK(shortest(1e16) == "1e+16");
  CHECK(shortest(-0.0001) == "-0.0001");
  CHECK(shortest(5e-324) == "5e-324");
}

}  // namespace etude
