#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/kernels/cpu/kernels.hpp"
#include "etude/kernels/cpu/launch.hpp"
#include "support.hpp"

// Winograd's convolution compared with that by matrix product, independent of the planner's choice.

using namespace etude;
using namespace etude::testing;
using cpu::ConvolutionArguments;
using cpu::ForwardMethod;

namespace {

struct Sizes {
  std::ptrdiff_t batch, height, width, channels, filters;
  bool padded, pooled, pool_beyond;  // "same" padding; windows of 2 · 2; the last of which may extend beyond y
  std::string text() const {
    return Shape{batch, height, width, channels}.to_string() + " by " + std::to_string(filters) +
           (padded ? " padded" : "") + (pooled ? " pooled" : "") + (pool_beyond ? " beyond" : "");
  }
};

template <class T> ConvolutionArguments<T> arguments_of(const Sizes& s) {
  const std::ptrdiff_t around = s.padded ? 1 : 0;
  ConvolutionArguments<T> a{};
  a.batch = s.batch, a.height = s.height, a.width = s.width, a.channels = s.channels, a.filters = s.filters;
  a.groups = a.stride_y = a.stride_x = a.dilation_y = a.dilation_x = 1;
  a.kernel_height = a.kernel_width = 3;
  a.before_y = a.before_x = around;
  a.rows = s.height + 2 * around - 2, a.columns = s.width + 2 * around - 2;
  a.pooled = s.pooled;
  const std::ptrdiff_t beyond = s.pool_beyond ? 1 : 0;
  a.pooled_rows = (a.rows + beyond) / 2, a.pooled_columns = (a.columns + beyond) / 2;
  a.pool_height = a.pool_width = a.pool_stride_y = a.pool_stride_x = 2;
  return a;
}

/// y, or the maxima of its windows with their cells; and the number of times the epilogue got each row.
template <class T> struct Outcome {
  std::vector<T> y;
  std::vector<std::uint8_t> index;
  std::vector<int> seen;
  bool operator==(const Outcome&) const = default;
};

template <class T>
Outcome<T> compute(const cpu::Kernels& kernels, const Sizes& s, ForwardMethod method, const std::vector<T>& x,
                   const std::vector<T>& kernel) {
  auto a = arguments_of<T>(s);
  a.forward = method;
  a.x = x.data(), a.kernel = kernel.data();
  const std::ptrdiff_t pixels = s.batch * (s.pooled ? a.pooled_rows * a.pooled_columns : a.rows * a.columns);
  Outcome<T> result{std::vector<T>(static_cast<std::size_t>(pixels * s.filters)),
                    std::vector<std::uint8_t>(s.pooled ? static_cast<std::size_t>(pixels * s.filters) : 0),
                    std::vector<int>(static_cast<std::size_t>(pixels))};
  a.out = result.y.data();
  a.index = s.pooled ? result.index.data() : nullptr;
  a.context = &result.seen;
  a.rows_done = [](void* seen, std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) ++(*static_cast<std::vector<int>*>(seen))[static_cast<std::size_t>(begin)];
  };
  const auto& of_type = cpu::float_kernels<T>(kernels);
  const cpu::Workers workers = cpu::workers();
  Storage workspace(static_cast<std::size_t>(of_type.convolve_workspace(a, workers.count)));
  a.workspace = workspace.address();
  of_type.convolve(a, workers);
  return result;
}

template <class T> std::vector<T> draw(Random& random, std::ptrdiff_t count, bool whole) {
  std::vector<T> numbers;
  for (std::ptrdiff_t i = 0; i < count; ++i)
    numbers.push_back(whole ? static_cast<T>(random.below(9)) - T(4)
                            : static_cast<T>(random.below(2001)) / 1000 - T(1));
  return numbers;
}

std::ptrdiff_t one_of(Random& random, std::initializer_list<std::ptrdiff_t> from) {
  return from.begin()[random.below(static_cast<std::uint32_t>(from.size()))];
}

Sizes random_sizes(Random& random) {
  const bool padded = random.below(2) == 0, pooled = random.below(3) > 0;
  Sizes s{one_of(random, {1, 2, 5}),
          one_of(random, {1, 2, 5, 6, 9, 14}),
          one_of(random, {1, 2, 5, 8, 13, 60}),
          one_of(random, {1, 2, 3, 8, 16, 33, 70}),
          one_of(random, {1, 3, 5, 8, 16, 24, 40}),
          padded,
          pooled,
          pooled && random.below(2) == 0};
  const std::ptrdiff_t least = (padded ? 1 : 3) + (pooled && !s.pool_beyond ? 1 : 0);
  s.height = std::max(s.height, least);
  s.width = std::max(s.width, least);
  return s;
}

template <class T> void check_whole_numbers(const cpu::Kernels& kernels, Random& random, const Sizes& s) {
  const auto x = draw<T>(random, s.batch * s.height * s.width * s.channels, true),
             kernel = draw<T>(random, 9 * s.channels * s.filters, true);
  INFO(kernels.isa << ' ' << s.text());
  const auto got = compute(kernels, s, ForwardMethod::winograd, x, kernel),
             want = compute(kernels, s, ForwardMethod::implicit_gemm, x, kernel);
  CHECK(got.y == want.y);
  CHECK(got.index == want.index);
  CHECK(std::ranges::all_of(got.seen, [](int times) { return times == 1; }));
}

}  // namespace

TEST_CASE("Winograd matches the product in numbers and cells, and passes each row to the epilogue once",
          "[execution][convolution]") {
  Random random = draws(31);
  for (int i = 0; i < 150; ++i) {
    const Sizes s = random_sizes(random);
    for (const cpu::Kernels& kernels : cpu::available_kernels()) {
      check_whole_numbers<float>(kernels, random, s);
      if (kernels.float64.convolve) check_whole_numbers<double>(kernels, random, s);
    }
  }
}

TEST_CASE("Winograd has the same bits on one thread and on several", "[execution][convolution][threads]") {
  Random random = draws(32);
  for (int i = 0; i < 30; ++i) {
    Sizes s = random_sizes(random);
    s.batch = 9;
    INFO(s.text());
    const auto x = draw<float>(random, s.batch * s.height * s.width * s.channels, false),
               kernel = draw<float>(random, 9 * s.channels * s.filters, false);
    const auto on = [&](int threads) {
      const Threads scope(threads);
      return compute(cpu::available_kernels().front(), s, ForwardMethod::winograd, x, kernel);
    };
    const auto one = on(1);
    for (const int threads : {2, 3}) CHECK(on(threads) == one);
  }
}

TEST_CASE("Winograd's rounding error is close to that of the product", "[execution][convolution]") {
  Random random = draws(33);
  const Sizes s{2, 14, 14, 64, 32, true, false, false};
  const auto x = draw<float>(random, 2 * 14 * 14 * 64, false), kernel = draw<float>(random, 9 * 64 * 32, false);
  for (const cpu::Kernels& kernels : cpu::available_kernels()) {
    const auto got = compute(kernels, s, ForwardMethod::winograd, x, kernel).y,
               want = compute(kernels, s, ForwardMethod::implicit_gemm, x, kernel).y;
    float apart = 0, largest = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      apart = std::max(apart, std::abs(got[i] - want[i]));
      largest = std::max(largest, std::abs(want[i]));
    }
    INFO(kernels.isa << ": " << apart << " of " << largest);
    CHECK(apart < 2e-6F * largest);
  }
}

TEST_CASE("Winograd and its pooling propagate NaN", "[execution][convolution]") {
  const Sizes s{1, 6, 6, 8, 8, true, true, false};
  for (const cpu::Kernels& kernels : cpu::available_kernels()) {
    std::vector<float> x(6 * 6 * 8, 1);
    x[0] = std::nanf("");
    const auto y = compute(kernels, s, ForwardMethod::winograd, x, std::vector<float>(9 * 8 * 8, 1)).y;
    INFO(kernels.isa);
    CHECK(std::isnan(y[0]));
    CHECK(!std::isnan(y.back()));
  }
}
