#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/etude.hpp"
#include "etude/kernels/cpu/convolution_cost.hpp"
#include "etude/ops/convolution.hpp"
#include "support.hpp"

// The planner's choice of a convolution's method, by the table of costs.

using namespace etude;
using cpu::ForwardMethod;
using cpu::GradientMethod;
using instruction::ConvolutionShape;
using instruction::Pooling;

namespace {

constexpr cpu::TileShape avx2{8, 6, 11}, wasm{4, 4, 0}, avx512{16, 12, 16};
const Window three{.extent = {3, 3}}, two_by_two{.extent = {2, 2}, .strides = {2, 2}};

ConvolutionShape shape_of(Shape x, std::int64_t filters, const Window& window = three, std::int64_t groups = 1) {
  return {window, x[0], x[1], x[2], x[3], window.outputs(0, x[1]), window.outputs(1, x[2]), filters, groups};
}
Pooling pooled(const ConvolutionShape& s, const Window& window = two_by_two) {
  return {window, s.batch, s.rows, s.columns, s.filters, window.outputs(0, s.rows), window.outputs(1, s.columns)};
}

ForwardMethod forward(const ConvolutionShape& s, const std::optional<Pooling>& pooling = {},
                      cpu::TileShape tile = avx2) {
  return cpu::cheapest<ForwardMethod>(cpu::forward_costs(s, pooling, tile));
}

}  // namespace

TEST_CASE("a convolution of 3 · 3 with enough channels and filters uses Winograd", "[execution][convolution]") {
  const ConvolutionShape second = shape_of({64, 13, 13, 32}, 64);  // of the benchmark's two convolutions
  for (const cpu::TileShape tile : {avx2, wasm, avx512}) {
    CHECK(forward(second, {}, tile) == ForwardMethod::winograd);
    CHECK(forward(second, pooled(second), tile) == ForwardMethod::winograd);
  }
}

TEST_CASE("a convolution uses a product of matrices if Winograd cannot compute it, or is slower",
          "[execution][convolution]") {
  const auto by_product = [](const ConvolutionShape& s) { return forward(s) == ForwardMethod::implicit_gemm; };
  CHECK(by_product(shape_of({64, 28, 28, 1}, 32)));  // one channel
  CHECK(by_product(shape_of({32, 28, 28, 8}, 32)));  // few channels
  CHECK(by_product(shape_of({64, 13, 13, 32}, 64, {.extent = {1, 1}})));
  CHECK(by_product(shape_of({64, 13, 13, 32}, 64, {.extent = {5, 5}})));
  CHECK(by_product(shape_of({64, 13, 13, 32}, 64, {.extent = {3, 3}, .strides = {2, 2}})));
  CHECK(by_product(shape_of({64, 13, 13, 32}, 64, {.extent = {3, 3}, .dilation = {2, 2}})));
  CHECK(by_product(shape_of({64, 13, 13, 32}, 64, three, 2)));
  CHECK(by_product(shape_of({1, 4, 4, 64}, 64)));   // one tile: transforming the kernel takes longer
  CHECK(by_product(shape_of({64, 3, 3, 64}, 64)));  // a quarter of each tile
  const ConvolutionShape s = shape_of({64, 13, 13, 32}, 64);
  CHECK(forward(s, pooled(s, {.extent = {3, 3}, .strides = {3, 3}})) == ForwardMethod::implicit_gemm);
}

TEST_CASE("sums of few terms are pooled in the registers of the sum", "[execution][convolution]") {
  const ConvolutionShape first = shape_of({64, 28, 28, 1}, 32);
  CHECK(forward(first, pooled(first)) == ForwardMethod::in_registers);
  const ConvolutionShape odd = shape_of({64, 28, 28, 1}, 33);  // no whole registers
  CHECK(forward(odd, pooled(odd)) == ForwardMethod::implicit_gemm);
  const Window wide{.extent = {2, 3}, .strides = {2, 3}};  // a window of more cells than the tile has rows
  CHECK(forward(first, pooled(first, wide), avx2) == ForwardMethod::in_registers);
  CHECK(forward(first, pooled(first, wide), wasm) == ForwardMethod::implicit_gemm);
}

TEST_CASE("a convolution with one input and one output channel per group is depthwise, unless it is pooled",
          "[execution][convolution]") {
  const ConvolutionShape s = shape_of({4, 12, 12, 32}, 32, three, 32);
  for (const cpu::TileShape tile : {avx2, wasm, avx512}) {
    CHECK(forward(s, {}, tile) == ForwardMethod::depthwise);
    CHECK(cpu::cheapest<GradientMethod>(cpu::input_gradient_costs(s, {}, tile)) == GradientMethod::depthwise);
    CHECK(cpu::cheapest<GradientMethod>(cpu::filter_gradient_costs(s, {}, tile)) == GradientMethod::depthwise);
  }
  CHECK(forward(s, pooled(s)) == ForwardMethod::implicit_gemm);
  CHECK(cpu::cheapest<GradientMethod>(cpu::input_gradient_costs(s, pooled(s), avx2)) == GradientMethod::dense);
  CHECK(forward(shape_of({4, 12, 12, 32}, 64, three, 32)) == ForwardMethod::implicit_gemm);  // two filters per channel
}

TEST_CASE("estimates of a method are infinite if it cannot compute the shape, else grow with the batch",
          "[execution][convolution]") {
  const auto one = cpu::forward_costs(shape_of({1, 13, 13, 32}, 64), {}, avx2),
             two = cpu::forward_costs(shape_of({2, 13, 13, 32}, 64), {}, avx2);
  CHECK(std::isinf(cpu::cost_of(one, ForwardMethod::in_registers)));
  CHECK(cpu::cost_of(one, ForwardMethod::implicit_gemm) == 11 * 11 * 9 * 32 * 64 / 8);
  CHECK(cpu::cost_of(two, ForwardMethod::implicit_gemm) == 2 * cpu::cost_of(one, ForwardMethod::implicit_gemm));
  // The kernel is transformed once for all images.
  CHECK(cpu::cost_of(two, ForwardMethod::winograd) < 2 * cpu::cost_of(one, ForwardMethod::winograd));
}

TEST_CASE("the shape selects the method of a pooled gradient", "[execution][convolution]") {
  const auto method = [](std::int64_t channels, const Window& window, std::int64_t groups, const Window& pool,
                         int lanes) {
    const ConvolutionShape s = shape_of({4, 12, 12, channels}, 12, window, groups);
    return cpu::cheapest<GradientMethod>(cpu::input_gradient_costs(s, pooled(s, pool), {lanes, 6, 11}));
  };
  const Window row{.extent = {1, 2}, .strides = {1, 2}}, dilated{.extent = {3, 3}, .dilation = {1, 2}};
  CHECK(method(32, three, 1, two_by_two, 8) == GradientMethod::sparse);
  CHECK(method(1, three, 1, two_by_two, 8) == GradientMethod::dense);  // rows of three numbers
  CHECK(method(32, three, 1, row, 8) == GradientMethod::dense);        // half of dy may be other than 0
  CHECK(method(32, three, 2, two_by_two, 8) == GradientMethod::dense);
  CHECK(method(32, dilated, 1, two_by_two, 8) == GradientMethod::dense);
  CHECK(method(12, three, 1, two_by_two, 8) == GradientMethod::dense);  // no whole registers
  CHECK(method(12, three, 1, two_by_two, 4) == GradientMethod::sparse);
  const ConvolutionShape s = shape_of({4, 12, 12, 32}, 12);
  CHECK(cpu::cheapest<GradientMethod>(cpu::input_gradient_costs(s, {}, avx2)) == GradientMethod::dense);
}

TEST_CASE("the gradient of a pooled kernel over few numbers is summed in registers, if there are enough",
          "[execution][convolution]") {
  const auto method = [](Shape x, std::int64_t filters, cpu::TileShape tile) {
    const ConvolutionShape s = shape_of(x, filters);
    return cpu::cheapest<GradientMethod>(cpu::filter_gradient_costs(s, pooled(s), tile));
  };
  CHECK(method({4, 12, 12, 1}, 32, avx2) == GradientMethod::in_registers);
  CHECK(method({4, 12, 12, 1}, 32, wasm) == GradientMethod::dense);
  CHECK(method({4, 12, 12, 2}, 32, avx2) == GradientMethod::dense);  // 18 rows
  CHECK(method({4, 12, 12, 1}, 12, avx2) == GradientMethod::dense);  // no whole registers
  const ConvolutionShape s = shape_of({4, 12, 12, 1}, 32);
  CHECK(cpu::cheapest<GradientMethod>(cpu::filter_gradient_costs(s, {}, avx2)) == GradientMethod::dense);
}

TEST_CASE("explain names the method of a convolution", "[execution][convolution][explain]") {
  Sequential model({layers::conv2d({.filters = 64, .kernel_size = 3, .activation = "relu"})});
  model.predict(Tensor({16, 13, 13, 32}), {.batch_size = 16, .verbose = 0});
  const std::string text = model.explain();
  INFO(text);
  CHECK(text.find("Convolution 16×13×13×32 by 3×3×32×64, by Winograd, then Add, Relu") != std::string::npos);
}

TEST_CASE(
    "a convolution by Winograd is pooled as it is computed only where its tiles are the windows: eager steps, which "
    "pool afterwards, have the same bits",
    "[execution][convolution]") {
  for (const int size : {2, 3}) {
    Sequential model({layers::conv2d({.filters = 64, .kernel_size = 3}), layers::max_pooling2d({.pool_size = size})});
    Tensor x({16, 13, 13, 32});
    std::ranges::generate(x.data<float>(), [i = 0.0F]() mutable { return std::sin(i += 0.7F); });
    const auto predicted = [&](bool eagerly) {
      model.compile({.loss = "mse", .run_eagerly = eagerly});
      return model.predict(x, {.batch_size = 16, .verbose = 0});
    };
    CHECK(testing::same_bits(predicted(false), predicted(true)));
    predicted(false);
    const std::string text = model.explain();
    INFO(text);
    CHECK(text.find("Winograd") != std::string::npos);
    CHECK((text.find("MaxPool") != std::string::npos) == (size == 3));
  }
}
