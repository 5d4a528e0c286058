#include "cuda/divisor.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace etude;
using cuda::Divisor;

namespace {

/// Divisors that reveal an inexact reciprocal: around each power of two, and all small ones.
std::vector<std::int64_t> divisors() {
  std::vector<std::int64_t> result;
  for (std::int64_t by = 1; by <= 1100; ++by) result.push_back(by);
  for (int bit = 11; bit <= 40; ++bit)
    for (const std::int64_t off : {-1, 0, 1, 3}) result.push_back((std::int64_t{1} << bit) + off);
  for (const std::int64_t by : {641, 65'537, 6'700'417, 715'827'883, 1'431'655'765}) result.push_back(by);
  return result;
}

/// The same for dividends: around multiples, especially the last ones of 31 bits.
std::vector<std::int64_t> dividends(std::int64_t by, std::int64_t most) {
  std::vector<std::int64_t> result{0, 1, most - 1, most};
  for (const std::int64_t multiple :
       {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, most / by / 3, most / by / 2, most / by - 1, most / by})
    for (const std::int64_t off : {-1, 0, 1})
      if (const std::int64_t of = multiple * by + off; of >= 0 && of <= most) result.push_back(of);
  std::int64_t random = by;
  for (int i = 0; i < 50; ++i) {
    random = (random * 6'364'136'223 + 1'442'695'041) & 0x7fffffff;
    if (random <= most) result.push_back(random);
  }
  return result;
}

}  // namespace

TEST_CASE("a divisor divides every number of 31 bits by a multiplication", "[cuda][divisor]") {
  for (const std::int64_t by : divisors())
    for (const std::int64_t of : dividends(by, 0x7fffffff)) {
      const Divisor divisor(by);
      if (divisor.quotient(static_cast<std::uint32_t>(of)) != of / by) FAIL(of << " / " << by);
      int narrow = static_cast<int>(of);
      const int rest = divisor.divide(narrow);
      if (narrow != of / by || rest != of % by) FAIL(of << " by " << by << ": " << narrow << ", " << rest);
    }
}

TEST_CASE("a divisor divides larger numbers, too", "[cuda][divisor]") {
  for (const std::int64_t by : divisors())
    for (const std::int64_t most : {std::int64_t{0x7fffffff}, std::int64_t{0xffffffff}, std::int64_t{1} << 60})
      for (const std::int64_t of : dividends(by, most)) {
        std::int64_t whole = of;
        const std::int64_t rest = Divisor(by).divide(whole);
        if (whole != of / by || rest != of % by) FAIL(of << " by " << by << ": " << whole << ", " << rest);
        if (Divisor(by).quotient(of) != of / by) FAIL(of << " / " << by);
      }
}

TEST_CASE("a divisor of 0 is harmless if nothing is divided", "[cuda][divisor]") {
  std::int64_t of = 5;
  CHECK(Divisor(0).divide(of) == 0);
  CHECK(of == 5);
}
