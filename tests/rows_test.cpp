#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "support.hpp"

// Graphs that become programs with row steps, and their results compared with the definitions.
using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

Value normalised(Values x) {
  const Value centered = x[0] - ops::mean(x[0], {-1}, true);
  return centered / ops::sqrt(ops::mean(ops::square(centered), {-1}, true) + 1e-3) * x[1] + x[2];
}

Compiled compiled(const std::vector<Tensor>& inputs, const std::function<std::vector<Value>(Values)>& function) {
  return Compiled(inputs, [&](Graph&, Values x) { return Compiled::Outcome{function(x), {}}; });
}

/// The names of a step's instructions.
std::string instructions(Compiled& step) {
  std::string text;
  for (const Instruction& one : step.plan().instructions())
    text += (text.empty() ? "" : " ") + std::string(name_of(one));
  return text;
}

std::string instructions_of(const Shape& shape, const Function& function) {
  const std::vector<Tensor> x{Tensor(shape), Tensor({shape[-1]}), Tensor({shape[-1]})};
  Compiled step = compiled(x, [&](Values v) { return std::vector{function(v)}; });
  return instructions(step);
}

Function gradient_of(const Function& function) {
  return [=](Values x) { return gradients(ops::sum(function(x) * ops::sin(x[0])), x)[0]; };
}

const Function softmax = [](Values x) { return ops::softmax(x[0]); };
const Function log_softmax = [](Values x) { return ops::log_softmax(x[0]); };

}  // namespace

TEST_CASE("softmax, normalisations and their gradients are one instruction", "[execution][rows]") {
  for (const Function& function : {softmax, log_softmax, Function(normalised)}) {
    CHECK(instructions_of({30, 28}, function) == "Elementwise");
    CHECK(instructions_of({4, 7, 64}, gradient_of(function)) == "Elementwise");
    CHECK(instructions_of({3, 512}, function) == "Elementwise");
  }
}

TEST_CASE("constants of the trace, and sums of one element each, cost no instruction", "[execution][rows]") {
  CHECK(instructions_of({30, 28}, [](Values x) { return x[0] * (ops::scalar(1, x[0]) / ops::scalar(3, x[0])); }) ==
        "Elementwise");
  CHECK(instructions_of({30, 1}, [](Values x) { return ops::sum(x[0], {-1}) * 2; }) == "Elementwise");
  CHECK(instructions_of({1, 1}, [](Values x) { return ops::max(x[0], {-1}) * 2; }) == "Elementwise");
  CHECK(instructions_of({30, 28}, [](Values x) {
          const Value threes = ops::reshape(ops::broadcast_to(ops::scalar(3, x[0]), {30}), {30, 1});
          return x[0] - ops::broadcast_to(threes, {30, 28});
        }) == "Elementwise");
}

TEST_CASE("a sum of rows is written directly to the variable that it is added to", "[execution][rows]") {
  const Variable total("total", Tensor::from<float>({}, {10}));
  Compiled step(std::vector{Tensor({5})}, [&](Graph& graph, Values x) {
    const Value sum = graph.read(total) + ops::sum(x[0] * graph.read(total));
    graph.assign(total, sum);
    return Compiled::Outcome{{sum * 2}, {}};
  });
  CHECK(instructions(step) == "Elementwise");
  step.run({Tensor::from<float>({5}, {1, 2, 3, 4, 5})});
  CHECK(step.plan().result(0).item() == 320);
  CHECK(total.value().item() == 160);
}

TEST_CASE("rows longer than a tile are reduced by a separate instruction", "[execution][rows]") {
  CHECK(instructions_of({3, 513}, softmax) == "Softmax");
  CHECK(instructions_of({3, 513}, [](Values x) { return x[0] - ops::max(x[0], {1}, true); }) == "Reduce Elementwise");
}

TEST_CASE("rows are processed while a product is in cache, if a row is a part of the product's rows",
          "[execution][rows]") {
  const std::vector<Tensor> x{Tensor({2, 6, 5}), Tensor({2, 5, 8}), Tensor({8})};
  const auto count = [&](const Function& function) {
    Compiled step = compiled(x, [&](Values v) { return std::vector{function(v)}; });
    return instructions(step);
  };
  CHECK(count([](Values v) { return ops::softmax(ops::matmul(v[0], v[1]) * 0.25 + v[2]); }) == "Gemm");
  CHECK(count([](Values v) { return ops::softmax(ops::reshape(ops::matmul(v[0], v[1]), {24, 4})); }) == "Gemm");
  CHECK(count([](Values v) { return ops::softmax(ops::reshape(ops::matmul(v[0], v[1]), {6, 16})); }) ==
        "Gemm Elementwise");
}

TEST_CASE("numbers per row in a program can be read outside of it", "[execution][rows]") {
  Random random = draws(1);
  const Tensor x = random_tensor(random, {37, 29});
  Compiled step = compiled({x}, [](Values v) {
    const Value e = ops::exp(v[0]), sum = ops::sum(e, {1}), largest = ops::max(e, {1}, true);
    return std::vector{sum, e - largest, largest, ops::sqrt(ops::square(sum) + 1)};
  });
  CHECK(instructions(step) == "Elementwise");
  step.run({x});
  for (std::int64_t row = 0; row < 37; ++row) {
    double sum = 0, largest = -1e9;
    for (std::int64_t i = 0; i < 29; ++i) {
      const double e = std::exp(x.at(row * 29 + i));
      sum += e;
      largest = std::max(largest, e);
    }
    CHECK(std::abs(step.plan().result(0).at(row) - sum) < 1e-13);
    CHECK(std::abs(step.plan().result(2).at(row) - largest) < 1e-14);
    CHECK(std::abs(step.plan().result(3).at(row) - std::sqrt(sum * sum + 1)) < 1e-13);
    for (std::int64_t i = 0; i < 29; ++i)
      CHECK(std::abs(step.plan().result(1).at(row * 29 + i) - (std::exp(x.at(row * 29 + i)) - largest)) < 1e-14);
  }
}

TEST_CASE("a number per row that other rows read is not computed within the row's program", "[execution][rows]") {
  Random random = draws(2);
  const Tensor x = random_tensor(random, {8, 8});
  const Tensor y = run({x}, [](Values v) { return v[0] * ops::sum(v[0], {1}) - ops::sum(v[0], {1}, true); });
  for (std::int64_t i = 0; i < 8; ++i)
    for (std::int64_t j = 0; j < 8; ++j) {
      double of_row = 0, of_column = 0;
      for (std::int64_t p = 0; p < 8; ++p) of_row += x.at(i * 8 + p), of_column += x.at(j * 8 + p);
      CHECK(std::abs(y.at(i * 8 + j) - (x.at(i * 8 + j) * of_column - of_row)) < 1e-13);
    }
}

TEST_CASE("sums and maxima of rows of every length match plain loops", "[execution][rows]") {
  Random random = draws(3);
  for (Cpu& device : instruction_sets())
    for (const std::int64_t row : {2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 511, 512})
      for (const std::int64_t rows : {1, 5, 8, 70})
        for (const DType dtype : {DType::float32, DType::float64}) {
          INFO(device.isa() << ' ' << dtype << ' ' << rows << " rows of " << row);
          const std::vector<Tensor> x{random_tensor(random, {rows, row}, dtype, -3, -1)};
          const Tensor sum = run_on(device, x, [](Values v) { return ops::sum(v[0], {1}); }),
                       largest = run_on(device, x, [](Values v) { return ops::max(v[0], {1}); });
          for (std::int64_t i = 0; i < rows; ++i) {
            double total = 0, high = -1e9;
            for (std::int64_t j = 0; j < row; ++j)
              total += x[0].at(i * row + j), high = std::max(high, x[0].at(i * row + j));
            CHECK(std::abs(sum.at(i) - total) <= (dtype == DType::float32 ? 1e-5 : 1e-13) * std::abs(total));
            CHECK(largest.at(i) == high);
          }
        }
}

TEST_CASE("transposes and column sums of all sizes match plain loops", "[execution][rows]") {
  Random random = draws(4);
  for (Cpu& device : instruction_sets())
    for (const Shape& shape : {Shape{3, 5, 7}, Shape{17, 70, 33}, Shape{2, 130, 9}, Shape{1, 64, 64}})
      for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::uint8}) {
        INFO(device.isa() << ' ' << dtype << ' ' << shape);
        const Tensor x = random_tensor(random, shape, dtype, 0, 100);
        const std::int64_t a = shape[0], b = shape[1], c = shape[2];
        const auto at = [&](std::int64_t i, std::int64_t j, std::int64_t k) { return x.at((i * b + j) * c + k); };
        const Tensor swapped = run_on(device, std::vector{x}, [](Values v) { return ops::transpose(v[0], {0, 2, 1}); }),
                     outer = run_on(device, std::vector{x}, [](Values v) { return ops::transpose(v[0], {1, 0, 2}); }),
                     all = run_on(device, std::vector{x}, [](Values v) { return ops::transpose(v[0], {2, 1, 0}); });
        bool same = true;
        for (std::int64_t i = 0; i < a; ++i)
          for (std::int64_t j = 0; j < b; ++j)
            for (std::int64_t k = 0; k < c; ++k)
              same &= swapped.at((i * c + k) * b + j) == at(i, j, k) && outer.at((j * a + i) * c + k) == at(i, j, k) &&
                      all.at((k * b + j) * a + i) == at(i, j, k);
        CHECK(same);
        if (dtype == DType::uint8) continue;
        const Tensor sums = run_on(device, std::vector{x}, [](Values v) { return ops::sum(v[0], {1}); });
        for (std::int64_t i = 0; i < a; ++i)
          for (std::int64_t k = 0; k < c; ++k) {
            double total = 0;
            for (std::int64_t j = 0; j < b; ++j) total += at(i, j, k);
            CHECK(std::abs(sums.at(i * c + k) - total) <= 1e-5 * total + 1e-9);
          }
      }
}

TEST_CASE("tall columns are summed up in chunks: the same bits for any number of threads", "[execution][rows]") {
  Random random = draws(5);
  for (const Shape& shape : {Shape{5408, 32}, Shape{3, 1000, 17}, Shape{40, 28, 64}, Shape{257, 3}}) {
    const std::vector<Tensor> x{random_tensor(random, shape, DType::float32)};
    const auto axis = static_cast<std::ptrdiff_t>(shape.rank()) - 2;
    const auto sums = [&] { return run_on(default_device(), x, [&](Values v) { return ops::sum(v[0], {axis}); }); };
    const Tensor one = sums();
    const std::vector<Tensor> wide{x[0].astype(DType::float64)};
    CHECK(difference(one.astype(DType::float64),
                     run_on(default_device(), wide, [&](Values v) { return ops::sum(v[0], {axis}); }),
                     {1e-4, 1e-5}) == "");
    for (const int count : {2, 3, 5}) {
      const Threads threads(count);
      CHECK(same_bits(sums(), one));
    }
  }
}
