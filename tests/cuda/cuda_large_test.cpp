#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "cuda/cuda.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "op_cases.hpp"
#include "runtime_under_test.hpp"

// Shapes that kernels divide into several blocks, chunks, parts or tiles, compared with the CPU. The shapes of the op
// table are too small for that.

using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

constexpr std::array floats{DType::float32, DType::float64};
constexpr double infinity = std::numeric_limits<double>::infinity(),
                 not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Gpu {
  Cuda device{"/gpu:0", std::make_unique<CountingRuntime>(), {.most_work_of_programs = 0}};

  /// The number of kernels of the function. Its result must match the CPU's within the tolerance.
  int kernels_of(std::span<const Tensor> x, const Function& function, Tolerance tolerance) {
    auto& counts = static_cast<CountingRuntime&>(device.runtime()).counts;
    counts = {};
    const Tensor got = run_on(device, x, function);
    CHECK(difference(got, run_on(cpu_device(), x, function), tolerance) == "");
    return counts.kernels;
  }
  /// Whether the vendor's library computed a product of the last function.
  bool vendor_multiplied() { return static_cast<CountingRuntime&>(device.runtime()).counts.products > 0; }
  bool same_bits_again(std::span<const Tensor> x, const Function& function) {
    return same_bits(run_on(device, x, function), run_on(device, x, function));
  }
};

/// The tolerance for sums of some thousands of numbers.
constexpr Tolerance of_sums(DType dtype) {
  return dtype == DType::float64 ? Tolerance{1e-11, 1e-12} : Tolerance{1e-3, 1e-5};
}
constexpr Tolerance of_rows(DType dtype) {
  return dtype == DType::float64 ? Tolerance{1e-13, 1e-12} : Tolerance{2e-6, 1e-5};
}

/// Numbers in [-2, 2), with some exceptions.
Tensor numbers_with(const Shape& shape, DType dtype, std::span<const std::pair<std::size_t, double>> others) {
  Random random = draws(3);
  std::vector<double> all = numbers(random_tensor(random, shape, DType::float64, -2, 2));
  for (const auto& [at, number] : others) all[at] = number;
  return tensor_of(shape, dtype, all);
}

/// Rows of `count` numbers with a few special values far apart.
std::vector<Tensor> rows_of(std::int64_t count, DType dtype) {
  const auto at = [&](std::int64_t row, std::int64_t column) { return static_cast<std::size_t>(row * count + column); };
  const std::vector<std::pair<std::size_t, double>> others{
      {at(1, 3), 90},           {at(1, count - 1), 90},        {at(2, count / 2), not_a_number}, {at(3, 5), infinity},
      {at(4, 0), -infinity},    {at(4, count - 2), -infinity}, {at(5, count - 1), 700},          {at(6, 0), -700},
      {at(7, 0), not_a_number}, {at(7, count / 3), 50}};
  Tensor x = numbers_with({9, count}, dtype, others);
  std::vector<double> last = numbers(x);
  std::fill(last.begin() + 8 * count, last.end(), -infinity);
  return {tensor_of({9, count}, dtype, last)};
}

Tensor indices_of(std::int64_t count, std::int64_t rows) {
  Random random = draws(5);
  std::vector<double> all = numbers(random_tensor(random, {count}, DType::int32, 0, static_cast<double>(rows)));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % 2 == 0) all[i] = 7;
    if (i % 31 == 5) all[i] = i % 3 == 0 ? -1 : i % 3 == 1 ? static_cast<double>(rows) : 2147483647;
  }
  return tensor_of({count}, DType::int32, all);
}

}  // namespace

TEST_CASE("tall sums and maxima are divided into chunks, and match the processor", "[cuda][large]") {
  Gpu gpu;
  struct Case {
    Shape shape;
    std::ptrdiff_t axis;
    DType dtype;
  };
  for (const auto& [shape, axis, dtype] :
       {Case{{50000, 1}, 0, DType::float32}, Case{{50000, 1}, 0, DType::int32}, Case{{5000, 10}, 0, DType::float64},
        Case{{3, 9000, 33}, 1, DType::float32}, Case{{2, 17001}, 1, DType::float32}}) {
    INFO(shape.to_string() << ", " << dtype);
    const std::vector<Tensor> x{numbers_with(shape, dtype, {})};
    const Function sum = [along = axis](Values v) { return ops::sum(v[0], {along}); };
    CHECK(gpu.kernels_of(x, sum, dtype == DType::int32 ? Tolerance{} : of_sums(dtype)) == 2);
    if (dtype == DType::float64) CHECK(gpu.same_bits_again(x, sum));
    if (dtype != DType::int32)
      CHECK(gpu.kernels_of(x, [along = axis](Values v) { return ops::max(v[0], {along}); }, {0, 0}) == 2);
  }
  const std::vector<std::pair<std::size_t, double>> with_one{{49'000, not_a_number}};
  const std::vector<Tensor> x{numbers_with({50000}, DType::float32, with_one)};
  CHECK(gpu.kernels_of(x, [](Values v) { return ops::max(v[0]); }, {0, 0}) == 2);
  CHECK(std::isnan(numbers(run_on(gpu.device, x, [](Values v) { return ops::max(v[0]); }))[0]));
}

TEST_CASE("reductions that keep the GPU busy are not divided", "[cuda][large]") {
  Gpu gpu;
  for (const Shape& shape : {Shape{512, 1100}, Shape{256, 300, 40}}) {
    const std::vector<Tensor> x{numbers_with(shape, DType::float32, {})};
    CHECK(gpu.kernels_of(x, [](Values v) { return ops::sum(v[0], {1}); }, of_sums(DType::float32)) == 1);
  }
}

TEST_CASE("the length of rows selects a warp, a block, or several blocks per row", "[cuda][large]") {
  Gpu gpu;
  for (const DType dtype : floats)
    for (const auto& [count, cut] :
         {std::pair<std::int64_t, bool>{600, false}, {1025, false}, {3001, false}, {20011, true}}) {
      INFO(count << ", " << dtype);
      const std::vector<Tensor> x = rows_of(count, dtype);
      const Function softmax = [](Values v) { return ops::softmax(v[0]); };
      CHECK(gpu.kernels_of(x, softmax, of_rows(dtype)) == (cut ? 2 : 1));
      CHECK(gpu.kernels_of(x, [](Values v) { return ops::argmax(v[0]); }, {0, 0}) == (cut ? 2 : 1));

      std::vector<Tensor> sparse{x[0], tensor_of({9}, DType::int32, {0, 3, 1, 5, 2, 7, 8, 9, -1})};
      const Function of_labels = [](Values v) { return ops::sparse_softmax_crossentropy(v[0], v[1]); };
      CHECK(gpu.kernels_of(sparse, of_labels, of_rows(dtype)) == (cut ? 2 : 1));
      sparse[1] = tensor_of({9}, DType::int32, std::vector<double>(9, static_cast<double>(count - 1)));
      CHECK(gpu.kernels_of(sparse, of_labels, of_rows(dtype)) == (cut ? 2 : 1));

      std::vector<double> targets = numbers(numbers_with({9, count}, dtype, {}));
      for (double& target : targets) target = target > 1 ? target / static_cast<double>(count) : 0;
      const std::vector<Tensor> dense{x[0], tensor_of({9, count}, dtype, targets)};
      CHECK(gpu.kernels_of(
                dense, [](Values v) { return ops::softmax_crossentropy(v[0], v[1]); }, of_rows(dtype)) ==
            (cut ? 3 : 1));
    }
}

TEST_CASE("rows of 40,000 numbers have the processor's softmax", "[cuda][large]") {
  Gpu gpu;
  for (const DType dtype : floats)
    CHECK(gpu.kernels_of(
              std::vector{numbers_with({2, 40000}, dtype, {})}, [](Values v) { return ops::softmax(v[0]); },
              of_rows(dtype)) == 2);
}

TEST_CASE("many long rows are computed by one block each", "[cuda][large]") {
  Gpu gpu;
  CHECK(gpu.kernels_of(std::vector{numbers_with({128, 16400}, DType::float32, {})},
                       [](Values v) { return ops::argmax(v[0]); }, {0, 0}) == 1);
}

TEST_CASE("the maximum of a long row is the first of equals, and NaN only if the row begins with it", "[cuda][large]") {
  Gpu gpu;
  for (const std::int64_t count : {700, 2000, 17000}) {
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return static_cast<std::size_t>(row * count + column);
    };
    const std::vector<std::pair<std::size_t, double>> others{
        {at(0, 400), 9},          {at(0, 650), 9}, {at(0, count - 1), 9}, {at(1, 0), not_a_number}, {at(1, 300), 9},
        {at(2, 1), not_a_number}, {at(2, 500), 9}, {at(3, 0), -infinity}, {at(3, 600), infinity}};
    const std::vector<Tensor> x{numbers_with({4, count}, DType::float32, others)};
    CHECK(numbers(run_on(gpu.device, x, [](Values v) { return ops::argmax(v[0]); })) ==
          std::vector<double>{400, 0, 500, 600});
    const std::vector<Tensor> lowest{tensor_of({1, count}, DType::float32, std::vector<double>(at(1, 0), -infinity))};
    CHECK(numbers(run_on(gpu.device, lowest, [](Values v) { return ops::argmax(v[0]); })) == std::vector<double>{0});
  }
}

TEST_CASE("rows that are added by index have the processor's bits, for any number of rows", "[cuda][large]") {
  Gpu gpu;
  struct Case {
    std::int64_t count, width, rows;
    int kernels;
  };
  for (const Case& one : {Case{300, 40, 20, 1}, Case{2000, 3, 2300, 3}, Case{2048, 33, 2000, 3}, Case{2049, 5, 9000, 4},
                          Case{5000, 300, 700, 5}, Case{9000, 1, 600, 6}})
    for (const DType dtype : floats) {
      INFO(one.count << " of " << one.width << " to " << one.rows << ", " << dtype);
      const std::vector<Tensor> x{numbers_with({one.count, one.width}, dtype, {}), indices_of(one.count, one.rows)};
      const Function add = [&](Values v) { return ops::scatter_add(v[0], v[1], one.rows); };
      CHECK(gpu.kernels_of(x, add, {0, 0}) == one.kernels);
      CHECK(same_bits(run_on(gpu.device, x, add), run_on(cpu_device(), x, add)));
    }
}

TEST_CASE("a product of several tiles and splits matches the processor", "[cuda][large]") {
  Gpu gpu;
  for (const bool transposed : {false, true}) {
    const DType dtype = DType::float32;
    const std::vector<Tensor> x{numbers_with(transposed ? Shape{2000, 70} : Shape{70, 2000}, dtype, {}),
                                numbers_with({2000, 200}, dtype, {})};
    const int kernels =
        gpu.kernels_of(x, [&](Values v) { return ops::matmul(v[0], v[1], transposed, false); }, of_sums(dtype));
    CHECK(kernels == (gpu.vendor_multiplied() ? 0 : 2));
  }
}

TEST_CASE("axes longer than a square are transposed", "[cuda][large]") {
  Gpu gpu;
  const std::vector<std::pair<Shape, std::vector<std::uint8_t>>> cases{
      {{70, 45}, {1, 0}}, {{3, 40, 2, 65}, {3, 0, 2, 1}}, {{33, 5, 64}, {2, 0, 1}}, {{40, 3, 37}, {1, 0, 2}}};
  for (const auto& [shape, order] : cases)
    for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::uint8}) {
      INFO(shape.to_string() << ", " << dtype);
      const std::vector<Tensor> x{numbers_with(shape, dtype, {})};
      CHECK(gpu.kernels_of(x, [&](Values v) { return ops::transpose(v[0], order); }, {0, 0}) == 1);
    }
}
