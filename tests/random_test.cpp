#include <algorithm>
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/ops/nn.hpp"
#include "support.hpp"

using namespace etude;
using namespace etude::testing;

namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::uint64_t seed = 0x123456789;

Words words(const Tensor& tensor) {
  Words result;
  for (const float x : tensor.data<float>()) result.push_back(std::bit_cast<std::uint32_t>(x));
  return result;
}

/// `count` numbers of a sequence, as float32.
Words drawn(std::size_t count, double (Random::*draw)(), Random random) {
  Words result;
  while (result.size() < count) result.push_back(std::bit_cast<std::uint32_t>(static_cast<float>((random.*draw)())));
  return result;
}

/// The draws of the op Uniform.
struct Draw {
  std::uint64_t seed = 1;
  std::uint32_t stream = 2;
  std::int32_t counter = 3;

  Tensor operator()(const Shape& shape, Device& device = default_device(), DType dtype = DType::float32) const {
    const std::vector<Tensor> inputs{Tensor::from({}, {counter})};
    return run_on(device, inputs,
                  [&](std::span<const Value> x) { return ops::uniform(shape, dtype, seed, stream, x[0]); });
  }
};

Tensor dropout(const Tensor& x, double rate, const Draw& draw = {}) {
  return run({x, Tensor::from({}, {draw.counter})},
             [&](std::span<const Value> v) { return ops::dropout(v[0], rate, draw.seed, draw.stream, v[1]); });
}

Tensor ones(const Shape& shape) {
  Tensor tensor(shape);
  std::ranges::fill(tensor.data<float>(), 1.0f);
  return tensor;
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};

Moments moments(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  Moments m;
  for (const double v : x) m.mean += v / n;
  for (const double v : x) m.variance += (v - m.mean) * (v - m.mean) / n;
  for (const double v : x) {
    const double z = (v - m.mean) / std::sqrt(m.variance);
    m.skew += z * z * z / n;
    m.kurtosis += z * z * z * z / n;
  }
  return m;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const Moments a = moments(x), b = moments(y);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - a.mean) * (y[i] - b.mean);
  return sum / static_cast<double>(x.size()) / std::sqrt(a.variance * b.variance);
}

bool near(double got, double want, double by) { return std::fabs(got - want) <= by; }

/// The sum of squared standardised deviations of a histogram: about its length for correct draws.
double chi_square(const std::vector<double>& x, std::size_t bins) {
  std::vector<double> count(bins);
  for (const double v : x) ++count[static_cast<std::size_t>(v * static_cast<double>(bins))];
  const double expected = static_cast<double>(x.size()) / static_cast<double>(bins);
  double sum = 0;
  for (const double c : count) sum += (c - expected) * (c - expected) / expected;
  return sum;
}

}  // namespace

// The lines "philox4x32 10" of Random123's kat_vectors.
TEST_CASE("Philox matches the known answers of its authors", "[random]") {
  using Block = std::array<std::uint32_t, 4>;
  CHECK(philox(0, {0, 0, 0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(0xffffffffffffffff, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

// These numbers are from another implementation. Saved experiments contain them: they must not change.
TEST_CASE("a sequence of draws has fixed bits", "[random]") {
  const auto bits = [](RandomStream stream) {
    Random random(seed, stream, 7);
    Words result;
    while (result.size() < 6) result.push_back(random.bits());
    return result;
  };
  CHECK(bits(RandomStream::initializer) ==
        Words{0x5139a37b, 0xd398ae13, 0xa8d1b193, 0xed6b4db4, 0x6bc73c3a, 0x7f1c4a7f});
  CHECK(bits(RandomStream::shuffle) == Words{0xc9949c63, 0xe1e5f8e4, 0x97dcf9fe, 0x7cf706d6, 0x3cb11eb9, 0x21d8a7f2});
  CHECK(bits(RandomStream::step) == Words{0x00b4315a, 0x16af6e31, 0x2b3bcee0, 0x17472dee, 0x707197e2, 0x6df0aebb});
}

TEST_CASE("many blocks of Philox at a time equal single blocks", "[random]") {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{0xfffffff0}, ~std::uint64_t{0} - 20})
    for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 200u}) {
      INFO(first << ' ' << count);
      Words got(4 * count), want;
      philox_blocks(seed, first, 7, 5, got);
      for (std::size_t i = 0; i < count; ++i)
        for (const std::uint32_t word :
             philox(seed, {static_cast<std::uint32_t>(first + i), static_cast<std::uint32_t>((first + i) >> 32), 7, 5}))
          want.push_back(word);
      CHECK(got == want);
    }
}

TEST_CASE("a sequence is the same drawn one by one or many at a time", "[random]") {
  Random single(seed, RandomStream::step), many(seed, RandomStream::step);
  for (const std::size_t count : {1u, 2u, 0u, 300u, 3u, 512u, 5u, 4u, 1u}) {
    Words got(count), want(count);
    many.bits(got);
    for (std::uint32_t& word : want) word = single.bits();
    CHECK(got == want);
    CHECK(many.bits() == single.bits());
  }
}

TEST_CASE("normal draws have fixed bits in float32", "[random]") {
  const Words expected{0x3d9cb0b8, 0x3eb66922, 0xbf38ecd5, 0x3f81c122, 0xbf539e6d, 0x3f20367a, 0x3fc3fa9a, 0x3f102af2};
  CHECK(drawn(8, &Random::normal, Random(seed, RandomStream::initializer)) == expected);
  CHECK(drawn(8, &Random::truncated_normal, Random(seed, RandomStream::initializer)) == expected);
}

TEST_CASE("a shuffle is a fixed permutation", "[random]") {
  std::vector<std::int64_t> order(10);
  shuffled_order(order, 7, 0);
  CHECK(order == std::vector<std::int64_t>{4, 5, 1, 6, 3, 8, 9, 0, 7, 2});
  shuffled_order(order, 7, 1);
  CHECK(order == std::vector<std::int64_t>{9, 1, 7, 4, 2, 8, 5, 3, 6, 0});
}

TEST_CASE("the op Uniform draws fixed bits, on every instruction set", "[random]") {
  const Words expected{0x3e671198, 0x3eac3e8a, 0x3f6c99b0, 0x3de0a478, 0x3f2e46c4,
                       0x3e9489d8, 0x3c2cf340, 0x3e466428, 0x3dcddb80, 0x3ef1e920};
  for (Cpu& device : instruction_sets()) {
    INFO(device.isa());
    const Draw draw{seed, 5, 9};
    CHECK(words(draw({10}, device)) == expected);
    CHECK(same_bits(draw({10}, device, DType::float64), draw({10}, device).astype(DType::float64)));
  }
}

TEST_CASE("dropout drops fixed elements", "[random]") {
  CHECK(numbers(dropout(ones({10}), 0.5, {seed, 5, 9})) == std::vector<double>{0, 0, 2, 0, 2, 0, 0, 0, 0, 0});
}

TEST_CASE("an element's draw depends on its index, not on the shape or the number of threads", "[random]") {
  const Draw draw;
  const Tensor all = draw({6, 4001});
  CHECK(same_bits(all.reshape({4001, 6}), draw({4001, 6})));
  CHECK(same_bits(all.reshape({6 * 4001}).rows(0, 4001), draw({4001})));
  for (const int count : {1, 2, 3, 8}) {
    const Threads threads(count);
    CHECK(same_bits(all, draw({6, 4001})));
  }
}

TEST_CASE("equal keys give equal draws, and any other seed, stream or counter gives others", "[random]") {
  const std::vector<Draw> draws{{},       {2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1, 2, -3}, {std::uint64_t{1} << 32, 2, 3},
                                {3, 2, 1}};
  for (const Draw& a : draws)
    for (const Draw& b : draws) {
      INFO(a.seed << ' ' << a.stream << ' ' << a.counter << " and " << b.seed << ' ' << b.stream << ' ' << b.counter);
      const Tensor x = a({5000}), y = b({5000});
      CHECK(same_bits(x, y) == (&a == &b));
      if (&a != &b) CHECK(std::fabs(correlation(numbers(x), numbers(y))) < 0.07);
    }
}

TEST_CASE("uniform draws are uniform", "[random]") {
  const std::vector<double> x = numbers(Draw{}({200000}));
  const Moments m = moments(x);
  CHECK(*std::ranges::min_element(x) >= 0);
  CHECK(*std::ranges::max_element(x) < 1);
  CHECK(near(m.mean, 0.5, 0.003));
  CHECK(near(m.variance, 1.0 / 12, 0.001));
  CHECK(chi_square(x, 100) < 150);
  CHECK(chi_square(x, 1000) < 1200);
  for (const std::size_t lag : {1u, 2u, 4u, 64u})
    CHECK(std::fabs(correlation({x.begin(), x.end() - static_cast<std::ptrdiff_t>(lag)},
                                {x.begin() + static_cast<std::ptrdiff_t>(lag), x.end()})) < 0.01);
}

TEST_CASE("uniform draws are below 1", "[random]") {
  CHECK(uniform_from_bits(0) == 0);
  CHECK(uniform_from_bits(0xffffffff) == 1 - 0x1p-24f);
}

TEST_CASE("normal draws are normal", "[random]") {
  Random random(seed, RandomStream::initializer);
  std::vector<double> x(200000), cut(200000);
  for (double& v : x) v = random.normal();
  for (double& v : cut) v = random.truncated_normal();
  const Moments m = moments(x), t = moments(cut);
  CHECK(near(m.mean, 0, 0.01));
  CHECK(near(m.variance, 1, 0.015));
  CHECK(near(m.skew, 0, 0.03));
  CHECK(near(m.kurtosis, 3, 0.06));
  CHECK(near(t.mean, 0, 0.01));
  CHECK(near(t.variance, 0.7737, 0.01));  // of a standard normal between -2 and 2
  CHECK(std::ranges::all_of(cut, [](double v) { return std::fabs(v) < 2; }));
}

TEST_CASE("draws below a bound are uniform", "[random]") {
  Random random(seed, RandomStream::shuffle);
  for (const std::uint32_t bound : {1u, 2u, 3u, 10u, 1000u, 0x80000001u}) {
    double sum = 0;
    std::uint32_t largest = 0;
    for (int i = 0; i < 20000; ++i) {
      const std::uint32_t x = random.below(bound);
      largest = std::max(largest, x);
      sum += x;
    }
    INFO(bound);
    CHECK(largest < bound);
    CHECK(near(sum / 20000 / bound, 0.5 - 0.5 / bound, 0.01));
  }
}

TEST_CASE("a shuffle is a permutation that depends on seed and epoch only", "[random]") {
  const auto order = [](std::uint64_t from, std::uint32_t epoch) {
    std::vector<std::int64_t> result(1000);
    shuffled_order(result, from, epoch);
    return result;
  };
  std::vector<std::int64_t> sorted = order(1, 0);
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i) REQUIRE(sorted[i] == static_cast<std::int64_t>(i));
  CHECK(order(1, 0) == order(1, 0));
  CHECK(order(1, 0) != order(1, 1));
  CHECK(order(1, 0) != order(2, 0));
}

TEST_CASE("every position of a shuffle is equally likely", "[random]") {
  constexpr std::size_t n = 6;
  constexpr int epochs = 12000;
  double count[n][n] = {};
  std::vector<std::int64_t> order(n);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    shuffled_order(order, seed, epoch);
    for (std::size_t i = 0; i < n; ++i) ++count[i][order[i]];
  }
  for (const auto& row : count)
    for (const double c : row) CHECK(near(c / epochs, 1.0 / n, 0.015));
}

TEST_CASE("dropout keeps the expected fraction, and the mean", "[random]") {
  for (const double rate : {0.1, 0.25, 0.5, 0.9}) {
    INFO(rate);
    const std::vector<double> y = numbers(dropout(ones({100000}), rate));
    const auto kept = static_cast<double>(std::ranges::count_if(y, [](double v) { return v != 0; }));
    CHECK(near(kept / 100000, 1 - rate, 0.01));
    CHECK(near(moments(y).mean, 1, 0.03));
    const auto scaled = static_cast<double>(static_cast<float>(1 / (1 - rate)));
    CHECK(std::ranges::all_of(y, [&](double v) { return v == 0 || v == scaled; }));
  }
}

TEST_CASE("dropout of rate 0 is x, and of rate 1 zeros", "[random]") {
  Random random = draws(1);
  const Tensor x = random_tensor(random, {50}, DType::float32);
  CHECK(same_bits(dropout(x, 0), x));
  for (const double v : numbers(dropout(x, 1))) CHECK(v == 0);
}

TEST_CASE("the gradient of dropout is zero at the dropped elements", "[random]") {
  const auto derivative = [](std::span<const Value> v) { return gradients(ops::dropout(v[0], 0.4, 1, 2, v[1]), v)[0]; };
  const Tensor x = ones({1000});
  CHECK(same_bits(run({x, Tensor::from({}, {std::int32_t{3}})}, derivative), dropout(x, 0.4)));
}

TEST_CASE("set_random_seed restarts the streams", "[random]") {
  const std::uint64_t before = random_seed();
  set_random_seed(5);
  const std::uint32_t first = next_random_stream(), second = next_random_stream();
  CHECK(first != second);
  set_random_seed(5);
  CHECK(random_seed() == 5);
  CHECK(next_random_stream() == first);
  set_random_seed(before);
}
