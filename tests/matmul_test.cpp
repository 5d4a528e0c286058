#include <catch2/catch_test_macros.hpp>

#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/shape.hpp"
#include "random_step.hpp"

// Products of batches, and of operands that are transposed or repeated: compared with plain loops, and the instructions
// that they become.
using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;
using Order = std::vector<std::uint8_t>;

/// The product by its definition. The leading axes are equal, or those of b are 1.
Tensor product(const Tensor& a, const Tensor& b, bool ta, bool tb) {
  const std::int64_t m = a.shape()[ta ? -1 : -2], k = a.shape()[ta ? -2 : -1], n = b.shape()[tb ? -2 : -1];
  const auto matrices = [](const Tensor& x) { return x.shape().slice(0, x.shape().rank() - 2).size(); };
  const std::int64_t count = matrices(a), own = matrices(b);
  Shape shape = a.shape();
  shape[-2] = m;
  shape[-1] = n;
  Tensor c(shape, DType::float64);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t s = 0; s < n; ++s) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += a.at(i * m * k + (ta ? p * m + r : r * k + p)) * b.at(i % own * k * n + (tb ? s * k + p : p * n + s));
        c.data<double>()[static_cast<std::size_t>((i * m + r) * n + s)] = sum;
      }
  return c;
}

/// Element order[..] of a tensor by its definition.
Tensor transposed(const Tensor& x, const Order& order) {
  Shape shape = x.shape();
  for (std::size_t i = 0; i < order.size(); ++i) shape[static_cast<std::ptrdiff_t>(i)] = x.shape()[order[i]];
  Tensor y(shape, x.dtype());
  const auto from = numbers(x);
  Tensor wide(shape, DType::float64);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    std::int64_t rest = i, at = 0;
    std::vector<std::int64_t> index(order.size());
    for (std::size_t axis = order.size(); axis-- > 0;) {
      index[order[axis]] = rest % shape[static_cast<std::ptrdiff_t>(axis)];
      rest /= shape[static_cast<std::ptrdiff_t>(axis)];
    }
    for (std::size_t axis = 0; axis < order.size(); ++axis)
      at = at * x.shape()[static_cast<std::ptrdiff_t>(axis)] + index[axis];
    wide.data<double>()[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(at)];
  }
  return wide.astype(x.dtype());
}

constexpr Tolerance rounding(DType dtype) {
  return dtype == DType::float64 ? Tolerance{1e-13, 1e-13} : Tolerance{2e-5, 1e-5};
}

Compiled compiled(const std::vector<Tensor>& inputs, const Function& function) {
  return Compiled(inputs, [&](Graph&, Values x) { return Compiled::Outcome{{function(x)}, {}}; });
}

}  // namespace

TEST_CASE("products of a batch equal those of its matrices, for any size and transpose", "[graph][matmul]") {
  struct Sizes {
    Shape batch;
    std::int64_t m, k, n;
  };
  Random random = draws(1);
  for (Cpu& device : instruction_sets())
    for (const auto& [batch, m, k, n] : std::vector<Sizes>{{{3}, 1, 1, 1},
                                                           {{2, 3}, 1, 5, 7},
                                                           {{5}, 7, 3, 1},
                                                           {{4, 1, 2}, 13, 17, 9},
                                                           {{2, 4}, 28, 16, 28},
                                                           {{2, 4}, 28, 28, 16},
                                                           {{2}, 70, 33, 65},
                                                           {{2}, 3, 0, 2}})
      for (const bool ta : {false, true})
        for (const bool tb : {false, true})
          for (const DType dtype : {DType::float32, DType::float64}) {
            INFO(device.isa() << ' ' << dtype << ' ' << batch << " x " << m << " x " << k << " x " << n << ta << tb);
            const auto shaped = [&](std::int64_t rows, std::int64_t columns) {
              Shape shape = batch;
              shape.append(rows);
              shape.append(columns);
              return random_tensor(random, shape, dtype);
            };
            const std::vector<Tensor> x{ta ? shaped(k, m) : shaped(m, k), tb ? shaped(n, k) : shaped(k, n)};
            const Tensor y = run_on(device, x, [&](Values v) { return ops::matmul(v[0], v[1], ta, tb); });
            CHECK(difference(y.astype(DType::float64), product(x[0], x[1], ta, tb), rounding(dtype)) == "");
          }
}

TEST_CASE("threads divide large products of a batch, or distribute small ones, with the same bits", "[graph][matmul]") {
  Random random = draws(2);
  const std::vector<std::vector<Tensor>> all{
      {random_tensor(random, {32, 28, 16}, DType::float32), random_tensor(random, {32, 16, 28}, DType::float32)},
      {random_tensor(random, {3, 190, 160}, DType::float32), random_tensor(random, {3, 160, 170}, DType::float32)},
      {random_tensor(random, {300, 1, 70}, DType::float32), random_tensor(random, {300, 70, 33}, DType::float32)}};
  for (const std::vector<Tensor>& x : all) {
    const auto both = [&] {
      return run_on(default_device(), x, [](Values v) { return ops::relu(ops::matmul(v[0], v[1]) - 0.5); });
    };
    const Tensor one = both();
    CHECK(difference(one.astype(DType::float64),
                     run({product(x[0], x[1], false, false)}, [](Values v) { return ops::relu(v[0] - 0.5); }),
                     {1e-4, 1e-4}) == "");
    for (const int count : {2, 3, 8}) {
      const Threads threads(count);
      CHECK(same_bits(both(), one));
    }
  }
}

TEST_CASE("leading axes broadcast, and with one matrix they are rows", "[graph][matmul]") {
  Random random = draws(3);
  const Tensor a = random_tensor(random, {2, 3, 4, 5}), b = random_tensor(random, {1, 1, 5, 6}),
               one = random_tensor(random, {6, 5}), row = random_tensor(random, {3, 4, 5});
  CHECK(difference(run({a, b}, [](Values x) { return ops::matmul(x[0], x[1]); }), product(a, b, false, false),
                   {1e-13, 0}) == "");
  CHECK(difference(run({a, one}, [](Values x) { return ops::matmul(x[0], x[1], false, true); }),
                   product(a, one.reshape({1, 1, 6, 5}), false, true), {1e-13, 0}) == "");
  CHECK(run({b, row}, [](Values x) { return ops::matmul(x[1], x[0]); }).shape() == Shape{1, 3, 4, 6});
  CHECK(run({one, row}, [](Values x) { return ops::matmul(x[0], x[1], false, true); }).shape() == Shape{3, 6, 4});
  // A repeated operand is read in place.
  CHECK(compiled({a, b}, [](Values x) { return ops::matmul(x[0], x[1]); }).plan().instructions().size() == 1);
}

TEST_CASE("a product reads and writes attention heads in place", "[graph][matmul]") {
  Random random = draws(4);
  const Order heads{0, 2, 1, 3};
  const Tensor q = random_tensor(random, {2, 5, 3, 4}), k = random_tensor(random, {2, 7, 3, 4});
  // [batch, steps, heads, n] each: scores [batch, heads, 5, 7].
  const auto scores = [&](Values x) {
    return ops::matmul(ops::transpose(x[0], heads), ops::transpose(x[1], heads), false, true);
  };
  Compiled attention = compiled({q, k}, scores);
  CHECK(attention.plan().instructions().size() == 1);
  attention.run({q, k});
  const Tensor want = product(transposed(q, heads), transposed(k, heads), false, true);
  CHECK(difference(attention.plan().result(0), want, {1e-13, 0}) == "");
  // And back to [batch, steps, heads, n].
  const auto mixed = [&](Values x) {
    return ops::transpose(ops::matmul(scores(x), ops::transpose(x[1], heads)), heads);
  };
  Compiled whole = compiled({q, k}, mixed);
  CHECK(whole.plan().instructions().size() == 2);
  CHECK(whole.count("Gemm") == 2);
  whole.run({q, k});
  CHECK(difference(whole.plan().result(0), transposed(product(want, transposed(k, heads), false, false), heads),
                   {1e-12, 0}) == "");
}

TEST_CASE("every order of axes around a product gives the same results as copies", "[graph][matmul]") {
  Random random = draws(5);
  const std::vector<Order> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const std::int64_t extent : {1, 3}) {
    const Shape shape{3, extent, 3};
    for (const Order& before : orders)
      for (const Order& after : orders)
        for (const bool transpose : {false, true}) {
          const Tensor a = random_tensor(random, shape), b = random_tensor(random, shape);
          const Tensor x = transposed(a, before);
          const Shape own = x.shape();
          Shape other = own;
          other[-2] = own[-1];
          other[-1] = 2;
          if (transpose) std::swap(other[-1], other[-2]);
          const Tensor y = random_tensor(random, other);
          INFO(own << " by " << other);
          const Tensor got = run({a, y}, [&](Values v) {
            return ops::transpose(ops::matmul(ops::transpose(v[0], before), v[1], false, transpose), after);
          });
          CHECK(difference(got, transposed(product(x, y, false, transpose), after), {1e-13, 0}) == "");
        }
  }
}

TEST_CASE("a transpose with other readers is stored in memory", "[graph][matmul]") {
  Random random = draws(6);
  const Tensor x = random_tensor(random, {4, 3}), y = random_tensor(random, {4, 5});
  Compiled both(std::vector{x, y}, [](Graph&, Values v) {
    const Value t = ops::transpose(v[0]);
    return Compiled::Outcome{{ops::matmul(t, v[1]), t, ops::exp(t)}, {}};
  });
  both.run({x, y});
  CHECK(both.count("Transpose") == 1);
  CHECK(difference(both.plan().result(0), product(x, y, true, false), {1e-13, 0}) == "");
  CHECK(same_bits(both.plan().result(1), transposed(x, {1, 0})));
}
