#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "etude/etude.hpp"
#include "support.hpp"

// Constants that do not equal themselves, or that equal others with another sign.
namespace etude {
namespace {

using testing::numbers;
using testing::run;
using testing::tensor_of;
using Values = std::span<const Value>;

const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
const Tensor x = tensor_of({3}, DType::float32, {-2, 0, 3});

bool are_all_nan(const std::vector<double>& values) {
  return !values.empty() && std::ranges::all_of(values, [](double each) { return std::isnan(each); });
}

}  // namespace

TEST_CASE("NaN is a constant like any other number", "[graph]") {
  CHECK(are_all_nan(numbers(run({x}, [](Values v) { return v[0] * nan; }))));
  CHECK(are_all_nan(numbers(run({x}, [](Values) { return ops::full({3}, nan); }))));
  CHECK(are_all_nan(numbers(run({x}, [](Values v) { return ops::exp(v[0] + nan) * 2.0 + nan; }))));
  const std::vector<double> chosen = numbers(run(
      {x}, [](Values v) { return ops::where(ops::less(ops::scalar(0, v[0]), v[0]), ops::scalar(nan, v[0]), v[0]); }));
  CHECK(chosen[0] == -2);
  CHECK(chosen[1] == 0);
  CHECK(std::isnan(chosen[2]));
}

TEST_CASE("-0 and 0 are different constants", "[graph]") {
  const std::vector<double> inverse = numbers(
      run({x}, [](Values v) { return 1.0 / ops::full({1}, 0) + 0.0 * ops::sum(v[0]) - 1.0 / ops::full({1}, -0.0); }));
  CHECK(inverse.front() == infinity);
}

}  // namespace etude
