#include <bit>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "etude/graph/detail/node.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "op_cases.hpp"

// Numbers of 16 bits, and computations with them.

using namespace etude;
using namespace etude::testing;

namespace {

template <class Half> Half of_bits(std::uint32_t bits) { return std::bit_cast<Half>(static_cast<std::uint16_t>(bits)); }

/// Bits of the numbers from 0 to infinity, in their order.
template <class Half> std::vector<std::uint32_t> ascending() {
  std::vector<std::uint32_t> all;
  for (std::uint32_t bits = 0; all.empty() || std::isfinite(float(of_bits<Half>(bits - 1))); ++bits)
    all.push_back(bits);
  return all;
}

/// float32 numbers of all magnitudes, with half-precision numbers and the midpoints between them.
std::vector<float> many_numbers() {
  std::vector<float> all{0.0f,
                         -0.0f,
                         65504.0f,
                         65519.99f,
                         65520.0f,
                         -65520.0f,
                         0x1p-24f,
                         0x1p-25f,
                         0x1.8p-24f,
                         -0x1p-25f,
                         0x1p-14f,
                         0x1.ffcp-15f,
                         0x1.ffep-15f,
                         std::numeric_limits<float>::max(),
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  for (std::uint32_t i = 0; i < 40000; ++i) {
    const float x = std::bit_cast<float>(i * 2654435761u);
    if (std::isnormal(x)) all.push_back(x);  // plans treat denormal numbers as zero
    all.push_back(static_cast<float>(i) * 0x1p-12f);
    all.push_back(static_cast<float>(of_bits<Float16>(i)) * (1 + 0x1p-11f));
  }
  return all;
}

Tensor cast_on(Device& device, const Tensor& x, DType to) {
  return run_on(device, std::vector{x}, [to](std::span<const Value> v) { return ops::cast(v[0], to); });
}

}  // namespace

TEMPLATE_TEST_CASE("a number of half precision converts to float32 and back without change", "[base][half]", Float16,
                   BFloat16) {
  std::size_t lost = 0;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = of_bits<TestType>(bits);
    const float wide = half;
    lost += std::isnan(wide) ? !std::isnan(float(TestType(wide))) : TestType(wide).bits != half.bits;
  }
  CHECK(lost == 0);
}

TEMPLATE_TEST_CASE("a float rounds to the nearest number of half precision, ties to even", "[base][half]", Float16,
                   BFloat16) {
  std::size_t wrong = 0;
  const std::vector<std::uint32_t> all = ascending<TestType>();
  for (std::size_t i = 0; i + 2 < all.size(); ++i) {
    const double low = of_bits<TestType>(all[i]), high = of_bits<TestType>(all[i + 1]), middle = (low + high) / 2;
    const auto halfway = static_cast<float>(middle);
    if (static_cast<double>(halfway) != middle) continue;  // between the smallest numbers of bfloat16
    const float below = std::nextafter(halfway, 0.0f),
                above = std::nextafter(halfway, std::numeric_limits<float>::infinity());
    const std::uint32_t even = all[i] % 2 == 0 ? all[i] : all[i + 1];
    wrong += TestType(halfway).bits != even || TestType(-halfway).bits != (even | 0x8000) ||
             TestType(below).bits != all[i] || TestType(above).bits != all[i + 1];
  }
  CHECK(wrong == 0);
}

TEST_CASE("numbers beyond the largest of half precision become infinite", "[base][half]") {
  const float infinite = std::numeric_limits<float>::infinity();
  CHECK(float(Float16(65519.99f)) == 65504);
  CHECK(float(Float16(65520)) == infinite);
  CHECK(float(Float16(-1e30)) == -infinite);
  CHECK(float(BFloat16(std::numeric_limits<float>::max())) == infinite);
  CHECK(float(BFloat16(-3e38)) > -infinite);
}

TEST_CASE("plans round to half precision like Float16 and BFloat16, on every instruction set", "[execution][half]") {
  const Tensor x = Tensor::from<float>({static_cast<std::int64_t>(many_numbers().size())}, many_numbers());
  for (Cpu& device : instruction_sets())
    for (const DType half : {DType::float16, DType::bfloat16}) {
      INFO(device.isa() << ", " << half);
      CHECK(same_bits(cast_on(device, x, half).astype(DType::float32), x.astype(half).astype(DType::float32)));
      const Tensor through = run_on(device, std::vector{x}, [half](std::span<const Value> v) {
        const Value same = ops::maximum(v[0], ops::scalar(-std::numeric_limits<double>::infinity(), v[0]));
        return ops::cast(ops::cast(same, half), DType::float32);
      });
      CHECK(same_bits(through, x.astype(half).astype(DType::float32)));
    }
}

TEST_CASE("an elementwise op of half precision is that of float32, rounded", "[execution][half]") {
  for (const OpEntry& entry : op_table()) {
    if (!entry.reference) continue;
    for (const OpCase& one : entry.cases)
      for (const DType half : {DType::float16, DType::bfloat16}) {
        INFO(one.name << ", " << half);
        const std::vector<Tensor> x = one.draw(7, half);
        std::vector<Tensor> wide;
        for (const Tensor& tensor : x) wide.push_back(is_half(tensor.dtype()) ? tensor.astype(DType::float32) : tensor);
        const Tensor y = run_on(cpu_device(), wide, one.function);
        CHECK(same_bits(run_on(cpu_device(), x, one.function), is_floating(y.dtype()) ? y.astype(half) : y));
      }
  }
}

TEST_CASE("products of half precision are added up in float32", "[execution][half]") {
  // 4096 + 1 is 4096 in both: sums in half precision would stay there.
  std::vector<float> ones(8192, 1.0f);
  const Tensor row = Tensor::from<float>({1, 8192}, ones), column = Tensor::from<float>({8192, 1}, ones);
  for (const DType half : {DType::float16, DType::bfloat16}) {
    const Tensor product =
        run({row.astype(half), column.astype(half)}, [](std::span<const Value> x) { return ops::matmul(x[0], x[1]); });
    CHECK(product.dtype() == half);
    CHECK(product.item() == 8192);
  }
}

TEST_CASE("products stay in half precision on a device that multiplies it", "[execution][half]") {
  for (const bool multiplies : {false, true}) {
    Graph graph({}, multiplies);
    const Value x = graph.input({2, 2}, DType::bfloat16), y = ops::matmul(x, x);
    CHECK(y.dtype() == DType::bfloat16);
    CHECK(std::holds_alternative<op::MatMul>(y.op()) == multiplies);
  }
}

TEST_CASE("operands of half precision and of another dtype are an error", "[execution][half]") {
  const auto added = [](DType a, DType b) {
    return [=](std::span<const Value> x) { return ops::cast(x[0], a) + ops::cast(x[0], b); };
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(run({Tensor({2})}, added(DType::float32, DType::bfloat16)),
                    ContainsSubstring("[Add] operands of dtype bfloat16 and float32 - expected equal dtypes"));
  CHECK_THROWS_WITH(run({Tensor({2})}, added(DType::float16, DType::bfloat16)),
                    ContainsSubstring("[Add] operands of dtype float16 and bfloat16"));
}
