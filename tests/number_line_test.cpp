#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "op_cases.hpp"

// Elementwise functions against references of the standard library, over numbers of every magnitude.

using namespace etude;
using namespace etude::testing;

namespace {

/// Numbers of every magnitude and sign, and the special ones.
std::vector<double> all_over_the_line(DType dtype, std::size_t count, std::uint64_t seed) {
  if (dtype == DType::int32) {
    std::vector<double> result;
    for (int i = -40; i <= 40; ++i) result.push_back(i);
    return result;
  }
  const bool wide = dtype == DType::float64;
  const double infinity = std::numeric_limits<double>::infinity(),
               largest = wide ? 0x1.fffffffffffffp1023 : 0x1.fffffep127, smallest = wide ? 0x1p-1022 : 0x1p-126;
  std::vector<double> result{0.0, -0.0, infinity, -infinity, std::nan("")};
  for (const double x : {1.0, 2.0, 0.5, 3.0, 10.0, 80.0, 88.0, 100.0, 700.0, 1000.0, 1e-3, 1e-10, largest, smallest})
    result.insert(result.end(), {x, -x});
  Random random = draws(seed);
  while (result.size() < count) {
    // Half of them have any exponent, half are in the most common range.
    const int exponent =
        random.below(2) ? static_cast<int>(random.below(250)) - 125 : static_cast<int>(random.below(12)) - 6;
    const double magnitude = std::ldexp(1 + static_cast<double>(random.uniform()), exponent);
    result.push_back(random.below(2) ? magnitude : -magnitude);
  }
  return numbers(tensor_of({static_cast<std::int64_t>(result.size())}, dtype, result));
}

/// The distance of `got` from `want` in units of want's last place; denormal numbers count as 0.
double distance(double got, double want, DType dtype) {
  const bool wide = dtype == DType::float64;
  const double smallest = wide ? 0x1p-1022 : 0x1p-126, epsilon = wide ? 0x1p-52 : 0x1p-23;
  const double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : infinity;
  if (got == want || (std::fabs(want) <= smallest && std::fabs(got) <= smallest)) return 0;
  if (std::isinf(got) || std::isinf(want)) return infinity;
  const double place = std::ldexp(epsilon, std::ilogb(want));
  return std::fabs(got - want) / place;
}

struct Worst {
  double ulps = 0, got = 0, want = 0, at[3] = {};
};

/// The largest error of an elementwise op over the number line.
Worst worst_of(const OpEntry& entry, DType dtype, Device& device) {
  std::vector<Tensor> operands;
  for (int i = 0; i < entry.arity; ++i) {
    std::vector<double> x = all_over_the_line(dtype, 20000, static_cast<std::uint64_t>(i) + 1);
    if (i > 0)  // all pairs of special numbers
      for (std::size_t j = 0; j < x.size(); ++j) std::swap(x[j], x[(j * 7919 + 31 * j / 33) % x.size()]);
    operands.push_back(tensor_of({static_cast<std::int64_t>(x.size())}, dtype, x));
  }
  const bool selects = entry.name == "Select";
  if (selects) operands[0] = operands[0].astype(DType::boolean);
  const Tensor got = run_on(device, operands, entry.cases.front().function);
  Worst worst;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    double x[3] = {};
    for (std::size_t j = 0; j < operands.size(); ++j) x[j] = operands[j].at(i);
    if (entry.name == "Power" && x[0] < 0 && std::fabs(x[1]) > 0x1p24) continue;  // floats of that size are always even
    double want = entry.reference(x[0], x[1], x[2]);
    if (dtype == DType::float32) want = static_cast<double>(static_cast<float>(want));
    const double ulps = distance(got.at(i), want, dtype);
    if (ulps > worst.ulps) worst = {ulps, got.at(i), want, {x[0], x[1], x[2]}};
  }
  return worst;
}

}  // namespace

TEST_CASE("an elementwise op is correct over the whole number line", "[execution][parity]") {
  for (Cpu& device : instruction_sets())
    for (const OpEntry& entry : op_table()) {
      if (!entry.reference) continue;
      for (const DType dtype : entry.dtypes) {
        const Worst worst = worst_of(entry, dtype, device);
        const double allowed = dtype == DType::float32 ? entry.ulps32 : dtype == DType::float64 ? entry.ulps64 : 0;
        INFO(device.isa() << ' ' << entry.name << ' ' << dtype << " of " << worst.at[0] << ", " << worst.at[1] << ", "
                          << worst.at[2] << " is " << worst.got << " instead of " << worst.want);
        CHECK(worst.ulps <= allowed);
      }
    }
}
