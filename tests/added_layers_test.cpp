#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "golden.hpp"
#include "support.hpp"

// Layers whose numbers tests/golden/conformance/added_layers.json compares: what those cases do not cover.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::difference;
using testing::error_of;
using testing::numbers;

}  // namespace

TEST_CASE("ThresholdedReLU keeps what is above theta, and refuses a theta below 0", "[layers][activations]") {
  const Tensor x = Tensor::from<float>({4}, {-3, 2, 2.5, 9});
  CHECK(numbers((*layers::thresholded_relu({.theta = 2}))(x)) == std::vector<double>{0, 0, 2.5, 9});
  CHECK(error_of([] { layers::thresholded_relu({.theta = -1, .name = "t"}); }) ==
        "[ThresholdedReLU \"t\"] theta = -1 - expected a number of 0 or more - set theta.");
}

}  // namespace etude
