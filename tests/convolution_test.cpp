#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/graph/detail/node.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/pooling.hpp"
#include "etude/ops/reduction.hpp"
#include "support.hpp"

// Convolutions and pooling against plain loops, over many shapes, on every instruction set.

using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

struct Geometry {
  Window window;
  Shape x, kernel;
  std::optional<Window> pool = {};
  std::int64_t groups() const { return x[3] / kernel[2]; }
  Shape y() const { return {x[0], window.outputs(0, x[1]), window.outputs(1, x[2]), kernel[3]}; }
  std::string text() const {
    std::string text = x.to_string() + " by " + kernel.to_string() + " strides " + Shape(window.strides).to_string() +
                       " dilation " + Shape(window.dilation).to_string() + " padding " +
                       Shape(window.before).to_string() + ' ' + Shape(window.after).to_string();
    if (pool) text += " pool " + Shape(pool->extent).to_string() + " at " + Shape(pool->strides).to_string();
    return text;
  }
};

/// Calls visit(element of x, of the kernel, of y) for each product of a convolution.
template <class Visitor> void for_each_product(const Geometry& g, Visitor visit) {
  const Shape y = g.y();
  const std::int64_t channels = g.kernel[2], filters = g.kernel[3] / g.groups();
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t i = 0; i < y[1]; ++i)
      for (std::int64_t j = 0; j < y[2]; ++j)
        for (std::int64_t u = 0; u < g.kernel[0]; ++u)
          for (std::int64_t v = 0; v < g.kernel[1]; ++v) {
            const std::int64_t row = i * g.window.strides[0] - g.window.before[0] + u * g.window.dilation[0],
                               column = j * g.window.strides[1] - g.window.before[1] + v * g.window.dilation[1];
            if (row < 0 || row >= g.x[1] || column < 0 || column >= g.x[2]) continue;
            for (std::int64_t f = 0; f < y[3]; ++f)
              for (std::int64_t c = 0; c < channels; ++c)
                visit(((n * g.x[1] + row) * g.x[2] + column) * g.x[3] + f / filters * channels + c,
                      ((u * g.kernel[1] + v) * channels + c) * y[3] + f, ((n * y[1] + i) * y[2] + j) * y[3] + f);
          }
}

std::vector<double> zeros(const Shape& shape) { return std::vector<double>(static_cast<std::size_t>(shape.size())); }
std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The maximum of each window of y, and its cell.
struct Pooled {
  std::vector<double> largest;
  std::vector<std::int64_t> from;
};

Pooled pool(const std::vector<double>& y, const Shape& shape, const Window& window) {
  Pooled result;
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t p = 0; p < window.outputs(0, shape[1]); ++p)
      for (std::int64_t q = 0; q < window.outputs(1, shape[2]); ++q)
        for (std::int64_t c = 0; c < shape[3]; ++c) {
          std::int64_t best = -1;
          for (std::int64_t i = 0; i < window.extent[0]; ++i)
            for (std::int64_t j = 0; j < window.extent[1]; ++j) {
              const std::int64_t row = p * window.strides[0] - window.before[0] + i,
                                 column = q * window.strides[1] - window.before[1] + j;
              if (row < 0 || row >= shape[1] || column < 0 || column >= shape[2]) continue;
              const std::int64_t cell = ((n * shape[1] + row) * shape[2] + column) * shape[3] + c;
              if (best < 0 || y[at(cell)] > y[at(best)]) best = cell;
            }
          result.largest.push_back(y[at(best)]);
          result.from.push_back(best);
        }
  return result;
}

/// Integers: sums of their products are exact in float32, in any order.
Tensor whole(Random& random, const Shape& shape, DType dtype) {
  Tensor tensor(shape, DType::float64);
  for (double& x : tensor.data<double>()) x = static_cast<double>(random.below(9)) - 4;
  return tensor.astype(dtype);
}

std::int64_t one_of(Random& random, std::initializer_list<std::int64_t> from) {
  return from.begin()[random.below(static_cast<std::uint32_t>(from.size()))];
}

/// Shapes for every path of the kernels: few and many channels and filters, complete and partial registers.
Geometry random_geometry(Random& random) {
  Geometry g;
  const bool depthwise = random.below(5) == 0;
  const std::int64_t groups = depthwise ? one_of(random, {2, 3, 8, 21, 48}) : one_of(random, {1, 1, 1, 1, 2, 3});
  const std::int64_t channels = depthwise ? 1 : one_of(random, {1, 1, 2, 3, 8, 16, 33}),
                     filters = depthwise ? 1 : one_of(random, {1, 2, 5, 8, 16, 24, 40});
  const bool strided = random.below(3) == 0, dilated = !strided && random.below(4) == 0;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    g.window.extent[axis] = one_of(random, {1, 2, 3, 3, 5});
    g.window.strides[axis] = strided ? one_of(random, {1, 2, 3}) : 1;
    g.window.dilation[axis] = dilated ? one_of(random, {1, 2}) : 1;
  }
  g.x = {one_of(random, {1, 2, 3}), one_of(random, {1, 5, 8, 13}), one_of(random, {2, 6, 9, 14}), channels * groups};
  for (std::size_t axis = 0; axis < 2; ++axis)
    while (g.window.span(axis) > g.x[static_cast<std::ptrdiff_t>(axis) + 1]) --g.window.extent[axis];
  if (random.below(2)) g.window = ops::padded(g.window, "same", {g.x[1], g.x[2]});
  g.kernel = {g.window.extent[0], g.window.extent[1], channels, filters * groups};
  if (random.below(3)) {
    const Shape y = g.y();
    Window pool{.extent = {std::min(one_of(random, {1, 2, 2, 3}), y[1]), std::min(one_of(random, {2, 2, 3}), y[2])}};
    for (std::size_t axis = 0; axis < 2; ++axis) pool.strides[axis] = pool.extent[axis] + (random.below(5) == 0);
    g.pool = random.below(2) ? ops::padded(pool, "same", {y[1], y[2]}) : pool;
  }
  return g;
}

/// y, pooled or not, and the gradients of x and the kernel for a given gradient of it.
std::vector<Value> forward_and_back(Values x, const Geometry& g) {
  const Value y = ops::convolution(x[0], x[1], g.window), result = g.pool ? ops::max_pool(y, *g.pool) : y;
  const std::vector<Value> sources{x[0], x[1]};
  std::vector<Value> all{result};
  for (const Value& gradient : gradients(ops::sum(result * x[2]), sources)) all.push_back(gradient);
  return all;
}

std::vector<std::vector<double>> plain_loops(const std::vector<Tensor>& x, const Geometry& g) {
  const std::vector<double> image = numbers(x[0]), kernel = numbers(x[1]), given = numbers(x[2]);
  std::vector<double> y = zeros(g.y()), dx = zeros(g.x), dkernel = zeros(g.kernel), dy = given;
  for_each_product(g, [&](auto a, auto b, auto c) { y[at(c)] += image[at(a)] * kernel[at(b)]; });
  if (g.pool) {
    const Pooled pooled = pool(y, g.y(), *g.pool);
    dy = zeros(g.y());
    for (std::size_t i = 0; i < given.size(); ++i) dy[at(pooled.from[i])] += given[i];
    y = pooled.largest;
  }
  for_each_product(g, [&](auto a, auto b, auto c) {
    dx[at(a)] += dy[at(c)] * kernel[at(b)];
    dkernel[at(b)] += dy[at(c)] * image[at(a)];
  });
  return {y, dx, dkernel};
}

std::vector<Tensor> draw(Random& random, const Geometry& g, DType dtype) {
  Shape result = g.y();
  if (g.pool) result = {result[0], g.pool->outputs(0, result[1]), g.pool->outputs(1, result[2]), result[3]};
  return {whole(random, g.x, dtype), whole(random, g.kernel, dtype), whole(random, result, dtype)};
}

std::vector<Tensor> compute(Device& device, const std::vector<Tensor>& x, const Geometry& g) {
  return evaluate(device, x, [&](Values values) { return forward_and_back(values, g); });
}

}  // namespace

TEST_CASE("convolutions and pooled convolutions match plain loops, and so do their gradients",
          "[execution][convolution]") {
  Random random = draws(21);
  for (int i = 0; i < 300; ++i) {
    const Geometry g = random_geometry(random);
    const std::vector<Tensor> x = draw(random, g, DType::float32);
    const auto want = plain_loops(x, g);
    std::vector<Tensor> wide;
    for (const Tensor& tensor : x) wide.push_back(tensor.astype(DType::float64));
    for (Cpu& device : instruction_sets()) {
      INFO(device.isa() << ' ' << g.text());
      const std::vector<Tensor> got = compute(device, x, g), got_wide = compute(device, wide, g);
      for (std::size_t j = 0; j < want.size(); ++j) {
        INFO("result " << j);
        CHECK(difference(numbers(got[j]), want[j]) == "");
        CHECK(difference(numbers(got_wide[j]), want[j]) == "");
      }
    }
  }
}

TEST_CASE("convolutions have the same bits on one thread and on several", "[execution][convolution][threads]") {
  Random random = draws(22);
  for (int i = 0; i < 80; ++i) {
    Geometry g = random_geometry(random);
    g.x = {9, g.x[1], g.x[2], g.x[3]};
    std::vector<Tensor> x;
    for (const Tensor& like : draw(random, g, DType::float32))
      x.push_back(random_tensor(random, like.shape(), DType::float32, -1, 1));
    INFO(g.text());
    const auto on = [&](int threads) {
      const Threads scope(threads);
      return compute(default_device(), x, g);
    };
    const std::vector<Tensor> one = on(1);
    for (const int threads : {2, 3}) {
      const std::vector<Tensor> several = on(threads);
      for (std::size_t j = 0; j < one.size(); ++j) CHECK(same_bits(several[j], one[j]));
    }
  }
}

TEST_CASE("a pooled convolution with its bias and relu is one instruction, and so is each gradient",
          "[execution][convolution]") {
  const Window window{.extent = {3, 3}}, pool{.extent = {2, 2}, .strides = {2, 2}};
  Random random = draws(23);
  const std::vector<Tensor> inputs{random_tensor(random, {2, 9, 10, 16}, DType::float32),
                                   random_tensor(random, {3, 3, 16, 24}, DType::float32),
                                   random_tensor(random, {24}, DType::float32)};
  const auto step = [&](Values x, bool apart) {
    Value y = ops::relu(ops::convolution(x[0], x[1], window) + x[2]);
    Compiled::Outcome outcome{{ops::max_pool(y, pool)}, {}};
    if (apart) outcome.results.push_back(y);  // now the unpooled result is read too
    const std::vector<Value> sources{x[0], x[1], x[2]};
    for (const Value& gradient : gradients(ops::sum(ops::square(outcome.results[0])), sources))
      outcome.results.push_back(gradient);
    return outcome;
  };
  Compiled together(inputs, [&](Graph&, Values x) { return step(x, false); }),
      apart(inputs, [&](Graph&, Values x) { return step(x, true); });
  for (const char* name : {"Convolution", "ConvolutionInput", "ConvolutionFilter"}) CHECK(together.count(name) == 1);
  for (const char* name : {"MaxPool", "PoolGather", "PoolScatter"}) CHECK(together.count(name) == 0);
  CHECK(together.count("Reduce") == 1);  // the bias's gradient
  CHECK(apart.count("MaxPool") == 1);

  together.run(inputs);
  apart.run(inputs);
  CHECK(same_bits(together.plan().result(0), apart.plan().result(0)));
  for (std::size_t i = 1; i < 4; ++i) CHECK(same_bits(together.plan().result(i), apart.plan().result(i + 1)));
}

TEST_CASE("pooling after bias and relu equals pooling before them", "[ops][convolution]") {
  const Window pool{.extent = {2, 3}, .strides = {2, 3}};
  Random random = draws(24);
  const std::vector<Tensor> inputs{random_tensor(random, {2, 6, 7, 3}), random_tensor(random, {3})};
  const auto gradients_of = [&](Values x, Value y) {
    const std::vector<Value> sources{x[0], x[1]};
    std::vector<Value> all{y};
    for (const Value& gradient : gradients(ops::sum(ops::sin(y)), sources)) all.push_back(gradient);
    return all;
  };
  const auto moved = evaluate(default_device(), inputs,
                              [&](Values x) { return gradients_of(x, ops::max_pool(ops::relu(x[0] + x[1]), pool)); });
  const auto as_written = evaluate(default_device(), inputs, [&](Values x) {
    const Value y = ops::relu(x[0] + x[1]);
    return gradients_of(x, ops::pool_gather(y, ops::pool_argmax(y, pool), pool));
  });
  for (std::size_t i = 0; i < moved.size(); ++i) CHECK(difference(moved[i], as_written[i], {1e-12}) == "");

  Graph graph;
  const Trace trace(graph);
  const Value x = graph.input({2, 6, 7, 3}, DType::float32), bias = graph.input({3}, DType::float32);
  CHECK(std::holds_alternative<op::Relu>(ops::max_pool(ops::relu(x + bias), pool).op()));
  CHECK(std::holds_alternative<op::Add>(ops::max_pool(bias + x, pool).op()));
  // Not monotonic in x, or not by channel.
  CHECK(std::holds_alternative<op::PoolGather>(ops::max_pool(-x, pool).op()));
  CHECK(std::holds_alternative<op::PoolGather>(ops::max_pool(x + x, pool).op()));
  const Value columns = graph.input({7, 1}, DType::float32);
  CHECK(std::holds_alternative<op::PoolGather>(ops::max_pool(x + columns, pool).op()));
}

TEST_CASE("max pooling propagates NaN, and selects the first of equals", "[execution][convolution]") {
  const double nan = std::nan("");
  for (Cpu& device : instruction_sets())
    for (const std::int64_t channels : {1, 9}) {
      INFO(device.isa() << ", " << channels << " channels");
      for (std::size_t where = 0; where < 4; ++where) {
        std::vector<double> x(static_cast<std::size_t>(4 * channels), 1);
        for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
          x[where * static_cast<std::size_t>(channels) + c] = nan;
        const std::vector<Tensor> inputs{tensor_of({1, 2, 2, channels}, DType::float32, x)};
        const auto named = [](Values v) { return ops::pool_argmax(v[0], {.extent = {2, 2}}); };
        CHECK(std::isnan(
            run_on(device, inputs, [](Values v) { return ops::max_pool(v[0], {.extent = {2, 2}}); }).at(channels - 1)));
        CHECK(run_on(device, inputs, named).at(channels - 1) == static_cast<double>(where));
      }
      const std::vector<Tensor> equal{tensor_of({1, 2, 2, 1}, DType::float32, {1, 2, 2, 2})};
      CHECK(run_on(device, equal, [](Values v) { return ops::pool_argmax(v[0], {.extent = {2, 2}}); }).item() == 1);
    }
}
