#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "etude/graph/detail/node.hpp"
#include "etude/ops/elementwise.hpp"
#include "support.hpp"

// Functions that are hard to compute to the last places, at their hardest arguments.
using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

/// The distance of `got` from `want` in units of want's last place.
double distance(double got, double want, DType dtype) {
  const double epsilon = dtype == DType::float64 ? 0x1p-52 : 0x1p-23;
  return got == want ? 0 : std::fabs(got - want) / std::ldexp(epsilon, std::ilogb(want));
}

/// The largest error of a function over all rows of its operands.
double worst(const std::vector<Tensor>& x, const Tensor& got, double (*want)(double, double)) {
  double worst = 0;
  for (std::int64_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, distance(got.at(i), want(x[0].at(i), x.back().at(i)), got.dtype()));
  return worst;
}

/// Whether such a power uses a logarithm.
bool takes_logarithm(double exponent) {
  Graph graph;
  const Trace trace(graph);
  const Value x = graph.input({3}, DType::float32);
  ops::power(x, ops::scalar(exponent, x));
  return std::ranges::any_of(graph.nodes(),
                             [](const Node& node) { return std::holds_alternative<op::Power>(node.op); });
}

}  // namespace

TEST_CASE("a power is exact to two units in the last place, up to the largest and smallest numbers",
          "[execution][parity]") {
  Random random = draws(31);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const bool wide = dtype == DType::float64;
    std::vector<double> base, exponent;
    for (int i = 0; i < 40000; ++i) {
      // Bases of any size, and near 1.
      const double u = static_cast<double>(random.uniform());
      base.push_back(i % 2 ? std::ldexp(1 + u, static_cast<int>(random.below(200)) - 100)
                           : 1 + std::ldexp(2 * u - 1, -1 - static_cast<int>(random.below(18))));
    }
    const Tensor bases = Tensor::from({40000}, base).astype(dtype);
    for (const double element : numbers(bases)) {
      // Exponents for which the result is a number.
      const double log = std::log(element), range = wide ? 707 : 87;
      exponent.push_back((2 * static_cast<double>(random.uniform()) - 1) * range / (log == 0 ? 1 : log));
    }
    const std::vector<Tensor> x{bases, Tensor::from({40000}, exponent).astype(dtype)};
    for (Cpu& device : instruction_sets()) {
      INFO(device.isa() << ", " << dtype);
      const Tensor y = run_on(device, x, [](Values v) { return ops::power(v[0], v[1]); });
      CHECK(worst(x, y, [](double a, double b) { return std::pow(a, b); }) <= 2);
    }
  }
}

TEST_CASE("a power of zero, negative, infinite or NaN operands matches C", "[execution][parity]") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> special{0.0, -0.0, 1, -1, 2, -2, 3, 0.5, -0.5, 1e300, -1e300, infinity, -infinity, nan};
  std::vector<double> base, exponent;
  for (const double a : special)
    for (const double b : special) base.push_back(a), exponent.push_back(b);
  const auto count = static_cast<std::int64_t>(base.size());
  const std::vector<Tensor> x{Tensor::from({count}, base), Tensor::from({count}, exponent)};
  for (Cpu& device : instruction_sets()) {
    const Tensor y = run_on(device, x, [](Values v) { return ops::power(v[0], v[1]); });
    for (std::size_t i = 0; i < base.size(); ++i) {
      INFO(device.isa() << ": " << base[i] << " to the power of " << exponent[i]);
      const bool fraction = exponent[i] != std::floor(exponent[i]);
      const double got = y.at(static_cast<std::int64_t>(i)), c = std::pow(base[i], exponent[i]);
      const double want = base[i] == -infinity && fraction ? nan : c;  // C returns a number for it
      CHECK(std::isnan(got) == std::isnan(want));
      if (std::isnan(want)) continue;
      CHECK(std::signbit(got) == std::signbit(want));
      CHECK((got == want || distance(got, want, DType::float64) <= 2));
    }
  }
}

TEST_CASE("a power with an exponent that needs no logarithm uses none, and is as exact", "[ops]") {
  for (const double exponent : {1.0, 2.0, 3.0, 0.5, -0.5, -1.0}) {
    INFO(exponent);
    CHECK_FALSE(takes_logarithm(exponent));
    Random random = draws(32);
    const std::vector<Tensor> x{random_tensor(random, {1000}, DType::float64, 1e-3, 100)};
    const Tensor y =
        run_on(default_device(), x, [&](Values v) { return ops::power(v[0], ops::scalar(exponent, v[0])); });
    for (std::int64_t i = 0; i < y.size(); ++i)
      CHECK(distance(y.at(i), std::pow(x[0].at(i), exponent), DType::float64) <= 2);
  }
  CHECK(takes_logarithm(2.5));
  CHECK(error_of([] {
          Graph graph;
          const Trace trace(graph);
          const Value x = graph.input({3}, DType::int32);
          ops::power(x, ops::scalar(2, x));
        }) != "no error");
}

TEST_CASE("erf is exact to three units in the last place between zero and one", "[execution][parity]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    std::vector<double> points;
    for (int i = -40000; i <= 40000; ++i) points.push_back(i * 1.6e-4 + 1e-9);
    const std::vector<Tensor> x{Tensor::from({80001}, points).astype(dtype)};
    for (Cpu& device : instruction_sets()) {
      INFO(device.isa() << ", " << dtype);
      const Tensor y = run_on(device, x, [](Values v) { return ops::erf(v[0]); });
      CHECK(worst(x, y, [](double a, double) { return std::erf(a); }) <= 3);
    }
  }
}
