#include "etude/base/error.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "etude/base/dtype.hpp"
#include "etude/base/host.hpp"
#include "etude/base/integers.hpp"
#include "etude/base/margins.hpp"
#include "etude/base/shape.hpp"
#include "support.hpp"

using namespace etude;
using namespace etude::testing;

TEST_CASE("error: its text consists of texts, characters and numbers", "[base]") {
  const std::string text = "text";
  CHECK(error_of([&] { fail(ErrorKind::value, "where", text, ' ', std::string_view("view"), ' ', "literal"); }) ==
        "[where] text view literal");
  CHECK(error_of([] { fail(ErrorKind::value, "n", -1, ' ', 7u, ' ', std::numeric_limits<std::int64_t>::min()); }) ==
        "[n] -1 7 -9223372036854775808");
  CHECK(error_of([] { fail(ErrorKind::value, "n", std::numeric_limits<std::uint64_t>::max()); }) ==
        "[n] 18446744073709551615");
}

TEST_CASE("error: floating-point numbers have six digits", "[base]") {
  CHECK(error_of([] { fail(ErrorKind::value, "x", 0.1, ' ', -2.0, ' ', 1e-7, ' ', 0.1f, ' ', 1234567.0); }) ==
        "[x] 0.1 -2 1e-07 0.1 1.23457e+06");
}

TEST_CASE("error: shapes, dtypes, margins and lists of numbers are formatted as in code", "[base]") {
  CHECK(error_of([] { fail(ErrorKind::shape, "s", Shape{2, -1}, ' ', Shape{}, ' ', DType::uint8); }) ==
        "[s] [2, -1] [] uint8");
  CHECK(error_of([] { fail(ErrorKind::value, "m", Margins(3), ' ', Margins{{3, 5}, 4}); }) == "[m] 3 [[3, 5], 4]");
  CHECK(error_of([] { fail(ErrorKind::value, "i", Integers(-1), ' ', Integers{1, 2}, Integers{}); }) ==
        "[i] -1 [1, 2]");
}

TEST_CASE("error: a check that succeeds formats nothing", "[base]") {
  CHECK_NOTHROW(check(true, ErrorKind::value, "here", 1));
}

TEST_CASE("pattern: a regular expression matches anywhere in a text, and an invalid one is an error", "[base]") {
  CHECK(host().search("k.rn", "dense/kernel"));
  CHECK_FALSE(host().search("^kernel", "dense/kernel"));
  CHECK_THROWS_AS(host().search("(", "dense/kernel"), std::invalid_argument);
}
