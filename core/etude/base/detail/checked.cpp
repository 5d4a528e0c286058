#include "etude/base/detail/checked.hpp"

#include "etude/base/error.hpp"

namespace etude::checked {
namespace {

void check_fits(bool fits, std::string_view where, std::int64_t a, std::string_view sign, std::int64_t b) {
  check(fits, ErrorKind::value, where, a, sign, b, " - expected a result of less than 2^63 - choose smaller numbers.");
}

}  // namespace

std::int64_t add(std::int64_t a, std::int64_t b, std::string_view where) {
  std::int64_t result = 0;
  check_fits(!__builtin_add_overflow(a, b, &result), where, a, " + ", b);
  return result;
}

std::int64_t subtract(std::int64_t a, std::int64_t b, std::string_view where) {
  std::int64_t result = 0;
  check_fits(!__builtin_sub_overflow(a, b, &result), where, a, " - ", b);
  return result;
}

std::int64_t multiply(std::int64_t a, std::int64_t b, std::string_view where) {
  std::int64_t result = 0;
  check_fits(!__builtin_mul_overflow(a, b, &result), where, a, " * ", b);
  return result;
}

}  // namespace etude::checked
