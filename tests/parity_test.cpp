#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "etude/execution/eager.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "op_cases.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

/// The tolerance between two instruction sets: products and sums have another order, exponentials another width.
constexpr Tolerance between_isas(DType dtype) {
  return dtype == DType::float64 ? Tolerance{1e-14, 1e-13} : Tolerance{1e-6, 1e-5};
}

/// Computes op by op, like `run_eagerly`.
Tensor eagerly(Device& device, const std::vector<Tensor>& inputs, const Function& function) {
  Graph graph;
  const Eager eager(graph, device, inputs);
  const Trace trace(graph);
  std::vector<Value> x;
  for (const Tensor& tensor : inputs) x.push_back(graph.input(tensor.shape(), tensor.dtype()));
  return eager.value(function(x).id());
}

/// The function with elementwise ops before it, which do not change its operands, and after it.
Function in_a_chain(const Function& function) {
  return [=](Values x) {
    std::vector<Value> operands(x.begin(), x.end());
    for (Value& operand : operands)
      if (is_floating(operand.dtype())) operand = ops::maximum(operand, ops::scalar(-100, operand));
    const Value y = ops::cast(function(operands), DType::float32);
    return ops::tanh(y * 0.25 - 1) + ops::sigmoid(y);
  };
}

}  // namespace

TEST_CASE("a plan has the bits of its ops one by one, on every instruction set", "[execution][parity]") {
  for (Cpu& device : instruction_sets())
    for (const OpCase& one : all_cases())
      for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
        INFO(device.isa() << ", " << dtype << ": " << one.name);
        const std::vector<Tensor> x = one.draw(3, dtype);
        CHECK(same_bits(run_on(device, x, one.function), eagerly(device, x, one.function)));
        CHECK(same_bits(run_on(device, x, in_a_chain(one.function)), eagerly(device, x, in_a_chain(one.function))));
      }
}

TEST_CASE("instruction sets compute the same results", "[execution][parity]") {
  std::vector<Cpu> all = instruction_sets();
  for (const OpCase& one : all_cases())
    for (const DType dtype : {DType::float32, DType::float64}) {
      const std::vector<Tensor> x = one.draw(4, dtype);
      const Tensor best = run_on(all.front(), x, one.function);
      for (Cpu& device : all) {
        INFO(device.isa() << ", " << dtype << ": " << one.name);
        CHECK(difference(run_on(device, x, one.function), best, between_isas(dtype)) == "");
      }
    }
}

TEST_CASE("float32 results are those of float64, rounded", "[execution][parity]") {
  for (const OpCase& one : all_cases()) {
    // Numbers that both types represent: otherwise a step function may get different numbers.
    std::vector<Tensor> narrow = one.draw(5, DType::float32), wide;
    for (const Tensor& tensor : narrow)
      wide.push_back(tensor.dtype() == DType::float32 ? tensor.astype(DType::float64) : tensor);
    INFO(one.name);
    CHECK(difference(run_on(default_device(), narrow, one.function), run_on(default_device(), wide, one.function),
                     {2e-6, 1e-5}) == "");
  }
}

TEST_CASE("a maximum of two and of many propagates NaN", "[execution][parity]") {
  const double nan = std::nan("");
  for (Cpu& device : instruction_sets())
    for (const DType dtype : {DType::float32, DType::float64})
      for (const std::size_t at : {0u, 5u, 37u, 69u}) {
        INFO(device.isa() << ", " << dtype << ", at " << at);
        std::vector<double> x(70, 1.0);
        x[at] = nan;
        const std::vector<Tensor> row{tensor_of({70}, dtype, x)}, column{tensor_of({70, 1}, dtype, x)},
            columns{tensor_of({5, 14}, dtype, x)};
        CHECK(std::isnan(run_on(device, row, [](Values v) { return ops::max(v[0]); }).item()));
        CHECK(std::isnan(run_on(device, column, [](Values v) { return ops::max(v[0], {0}); }).item()));
        const Tensor each = run_on(device, columns, [](Values v) { return ops::max(v[0], {0}); });
        for (std::int64_t i = 0; i < 14; ++i)
          CHECK(std::isnan(each.at(i)) == (i == static_cast<std::int64_t>(at % 14)));
        const Tensor clipped = run_on(device, row, [](Values v) { return ops::clip(v[0], 0, 1); });
        CHECK(std::isnan(clipped.at(static_cast<std::int64_t>(at))));
      }
}

TEST_CASE("ops compute the exact results of their examples", "[execution][parity]") {
  for (Cpu& device : instruction_sets())
    for (const OpEntry& entry : op_table())
      for (const OpExample& example : entry.examples)
        for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
          INFO(device.isa() << ", " << dtype << ": " << entry.name << ", " << example.name);
          std::vector<Tensor> x = example.operands;
          for (Tensor& tensor : x)
            if (is_floating(tensor.dtype())) tensor = tensor.astype(dtype);
          CHECK(numbers(run_on(device, x, example.function)) == example.expected);
        }
}

// ---- integers, bytes and conditions ----

TEST_CASE("a cast rounds towards zero, and treats numbers out of range the same on every target",
          "[execution][parity]") {
  const double infinity = std::numeric_limits<double>::infinity(), lowest = -0x1p31;
  struct From {
    double x, as_int32, as_uint8;
  };
  const std::vector<From> table{{0, 0, 0},
                                {0.9, 0, 0},
                                {-0.9, 0, 0},
                                {2.5, 2, 2},
                                {-2.5, -2, 0},
                                {255, 255, 255},
                                {255.9, 255, 255},
                                {256, 256, 255},
                                {-1, -1, 0},
                                {3e9, lowest, 255},
                                {-3e9, lowest, 0},
                                {-0x1p31, lowest, 0},
                                {0x1p31, lowest, 255},
                                {infinity, lowest, 255},
                                {-infinity, lowest, 0},
                                {std::nan(""), lowest, 0}};
  std::vector<double> x, as_int32, as_uint8, truth;
  for (int copies = 0; copies < 3; ++copies)
    for (const From& from : table) {
      x.push_back(from.x);
      as_int32.push_back(from.as_int32);
      as_uint8.push_back(from.as_uint8);
      truth.push_back(from.x != 0);
    }
  for (Cpu& device : instruction_sets())
    for (const DType dtype : {DType::float32, DType::float64}) {
      INFO(device.isa() << ", " << dtype);
      const std::vector<Tensor> inputs{tensor_of({static_cast<std::int64_t>(x.size())}, dtype, x)};
      const auto cast_to = [&](DType to) {
        const Tensor alone = run_on(device, inputs, [=](Values v) { return ops::cast(v[0], to); });
        // Fused, so that it is never stored in its own dtype.
        const Tensor fused =
            run_on(device, inputs, [=](Values v) { return ops::cast(ops::cast(v[0], to), DType::float64) + 0.5; });
        std::vector<double> less = numbers(fused);
        for (double& number : less) number -= 0.5;
        CHECK(difference(less, numbers(alone)) == "");
        return numbers(alone);
      };
      CHECK(difference(cast_to(DType::int32), as_int32) == "");
      CHECK(difference(cast_to(DType::uint8), as_uint8) == "");
      CHECK(difference(cast_to(DType::boolean), truth) == "");
    }
}

TEST_CASE("integers out of a byte's range are cast to the nearest byte", "[execution][parity]") {
  const Tensor x = tensor_of({5}, DType::int32, {-300, -1, 7, 255, 300});
  CHECK(numbers(run({x}, [](Values v) { return ops::cast(v[0], DType::uint8); })) ==
        std::vector<double>{0, 0, 7, 255, 255});
  CHECK(numbers(run({x}, [](Values v) { return ops::cast(ops::cast(v[0], DType::uint8), DType::int32) + 0; })) ==
        std::vector<double>{0, 0, 7, 255, 255});
}

TEST_CASE("bytes and conditions are accepted by the ops that support them", "[execution][parity]") {
  Random random = draws(9);
  const Tensor bytes = random_tensor(random, {6, 7}, DType::uint8, 0, 256),
               others = random_tensor(random, {7}, DType::uint8, 0, 256),
               conditions = random_tensor(random, {6, 1}, DType::boolean, 0, 2);
  const std::vector<Function> functions{
      [](Values x) { return ops::maximum(x[0], x[1]); },
      [](Values x) { return ops::minimum(x[0], x[1]); },
      [](Values x) { return ops::less(x[0], x[1]); },
      [](Values x) { return ops::equal(x[0], x[0]); },
      [](Values x) { return ops::where(x[2], x[0], x[1]); },
      [](Values x) { return ops::where(ops::logical_not(x[2]), x[0], x[1]); },
      [](Values x) { return ops::logical_and(x[2], ops::less_equal(x[0], x[1])); },
      [](Values x) { return ops::logical_or(x[2], ops::cast(x[0], DType::boolean)); },
      [](Values x) { return ops::cast(x[0], DType::float32) / 255; },
      [](Values x) { return ops::sum(ops::cast(x[2], DType::int32)); },
      [](Values x) { return ops::transpose(x[0]); },
      [](Values x) { return ops::reshape(x[2], {2, 3}); },
      [](Values x) { return ops::broadcast_to(x[2], {6, 7}); },
      [](Values x) { return ops::broadcast_to(x[1], {3, 7}); },
      [](Values x) { return ops::one_hot(ops::cast(x[1], DType::int32), 256, DType::boolean); },
  };
  const std::vector<Tensor> inputs{bytes, others, conditions};
  for (Cpu& device : instruction_sets())
    for (std::size_t i = 0; i < functions.size(); ++i) {
      INFO(device.isa() << ", function " << i);
      const Tensor got = run_on(device, inputs, functions[i]);
      CHECK(same_bits(got, eagerly(device, inputs, functions[i])));
      // Computations in larger types give the same results.
      const Function wider = [&](Values x) {
        const Value y = functions[i](x);
        return ops::cast(y, DType::float64);
      };
      CHECK(difference(run_on(device, inputs, wider), got) == "");
    }
}

// ---- plain loops for the ops that are not elementwise ----

TEST_CASE("reductions and rows compute what plain loops do, on every instruction set", "[execution][parity]") {
  Random random = draws(11);
  for (Cpu& device : instruction_sets())
    for (const auto& [rows, count] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {3, 5}, {7, 16}, {5, 33}, {2, 5000}})
      for (const DType dtype : {DType::float32, DType::float64}) {
        INFO(device.isa() << ", " << dtype << ", " << rows << " rows of " << count);
        const std::vector<Tensor> x{random_tensor(random, {rows, count}, dtype, -5, 5)};
        std::vector<double> sum, sum_of_columns(static_cast<std::size_t>(count)), largest, index, softmax, loss;
        for (std::int64_t i = 0; i < rows; ++i) {
          double total = 0, high = -1e9, exponentials = 0;
          std::int64_t best = 0;
          for (std::int64_t j = 0; j < count; ++j) {
            const double v = x[0].at(i * count + j);
            total += v;
            sum_of_columns[static_cast<std::size_t>(j)] += v;
            if (v > high) high = v, best = j;
            exponentials += std::exp(v);
          }
          for (std::int64_t j = 0; j < count; ++j) softmax.push_back(std::exp(x[0].at(i * count + j)) / exponentials);
          sum.push_back(total);
          largest.push_back(high);
          index.push_back(static_cast<double>(best));
          loss.push_back(std::log(exponentials) - x[0].at(i * count + count / 2));
        }
        const Tolerance close = dtype == DType::float64 ? Tolerance{1e-11, 1e-13} : Tolerance{2e-4, 2e-6};
        const auto got = [&](const Function& function) { return numbers(run_on(device, x, function)); };
        const auto label = [&](Values v) {
          return ops::sparse_softmax_crossentropy(
              v[0], Graph::current().constant(static_cast<double>(count / 2), DType::int32, {rows}));
        };
        const auto target = [&](Values v) {
          const Value labels = Graph::current().constant(static_cast<double>(count / 2), DType::int32, {rows});
          return ops::softmax_crossentropy(v[0], ops::one_hot(labels, count, dtype));
        };
        CHECK(difference(got([](Values v) { return ops::sum(v[0], {1}); }), sum, close) == "");
        CHECK(difference(got([](Values v) { return ops::sum(v[0], {0}); }), sum_of_columns, close) == "");
        CHECK(difference(got([](Values v) { return ops::max(v[0], {1}); }), largest) == "");
        CHECK(difference(got([](Values v) { return ops::argmax(v[0]); }), index) == "");
        CHECK(difference(got([](Values v) { return ops::softmax(v[0]); }), softmax, {1e-9, 5e-6}) == "");
        CHECK(difference(got(label), loss, {1e-5, 1e-5}) == "");
        CHECK(difference(got(target), loss, {1e-5, 1e-5}) == "");
      }
}

TEST_CASE("int32 sums are exact over every axis", "[execution][parity]") {
  Random random = draws(12);
  const Tensor x = random_tensor(random, {3, 4, 5}, DType::int32, -1000000, 1000000);
  std::vector<double> middle(15);
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j)
      for (std::int64_t k = 0; k < 5; ++k) middle[static_cast<std::size_t>(i * 5 + k)] += x.at((i * 4 + j) * 5 + k);
  CHECK(numbers(run({x}, [](Values v) { return ops::sum(v[0], {1}); })) == middle);
}

TEST_CASE("labels out of range have a one-hot row of zeros, and a loss of NaN", "[execution][parity]") {
  const Tensor labels = tensor_of({4}, DType::int32, {-1, 0, 2, 3});
  CHECK(numbers(run({labels}, [](Values v) { return ops::one_hot(v[0], 3, DType::float32); })) ==
        std::vector<double>{0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0});
  const Tensor losses =
      run({Tensor({4, 3}), labels}, [](Values v) { return ops::sparse_softmax_crossentropy(v[0], v[1]); });
  for (const std::int64_t i : {0, 3}) CHECK(std::isnan(losses.at(i)));
  for (const std::int64_t i : {1, 2}) CHECK(std::fabs(losses.at(i) - std::log(3.0)) < 1e-6);
}

TEST_CASE("rows of huge and of tiny logits lose no precision", "[execution][parity]") {
  const Tensor logits = tensor_of({2, 3}, DType::float32, {3e38, 0, -3e38, -1e30, -1e30, -1e30});
  for (Cpu& device : instruction_sets()) {
    INFO(device.isa());
    const std::vector<Tensor> inputs{logits, tensor_of({2}, DType::int32, {0, 1})};
    CHECK(difference(numbers(run_on(device, inputs, [](Values v) { return ops::softmax(v[0]); })),
                     std::vector<double>{1, 0, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3}, {1e-7}) == "");
    CHECK(std::isfinite(run_on(device, inputs, [](Values v) {
                          return ops::mean(ops::sparse_softmax_crossentropy(v[0], v[1]));
                        }).item()));
  }
}
