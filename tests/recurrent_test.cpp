#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/layers/layers.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "support.hpp"

// Layers with a state that goes from step to step, and the loops that they are made of.
using namespace etude;
using namespace etude::testing;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::shared_ptr<LSTM> lstm(LSTMOptions options) {
  options.dtype = "float64";
  options.bias_initializer = initializers::random_normal();
  return std::make_shared<LSTM>(std::move(options));
}

/// Steps [batch, steps, units] of an LSTM by its definition, in the order in which they are taken.
Tensor reference(const LSTM& layer, const Tensor& x, bool backwards) {
  const std::vector<Tensor> w = layer.get_weights();
  const std::int64_t batch = x.shape()[0], steps = x.shape()[1], features = x.shape()[2], units = w[1].shape()[0];
  Tensor out({batch, steps, units}, DType::float64);
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<double> h(static_cast<std::size_t>(units)), c = h;
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t t = backwards ? steps - 1 - s : s;
      std::vector<double> z;
      for (std::int64_t j = 0; j < 4 * units; ++j) {
        double sum = w[2].at(j);
        for (std::int64_t f = 0; f < features; ++f)
          sum += x.at((b * steps + t) * features + f) * w[0].at(f * 4 * units + j);
        for (std::int64_t u = 0; u < units; ++u) sum += h[static_cast<std::size_t>(u)] * w[1].at(u * 4 * units + j);
        z.push_back(sum);
      }
      for (std::int64_t u = 0; u < units; ++u) {
        const auto gate = [&](std::int64_t which) { return z[static_cast<std::size_t>(which * units + u)]; };
        double& state = c[static_cast<std::size_t>(u)];
        state = sigmoid(gate(1)) * state + sigmoid(gate(0)) * std::tanh(gate(2));
        h[static_cast<std::size_t>(u)] = sigmoid(gate(3)) * std::tanh(state);
        out.data<double>()[static_cast<std::size_t>((b * steps + s) * units + u)] = h[static_cast<std::size_t>(u)];
      }
    }
  }
  return out;
}

Tensor input(const Shape& shape) {
  Random random = draws(5);
  return random_tensor(random, shape);
}

constexpr Tolerance near{1e-12, 1e-12};

}  // namespace

TEST_CASE("an LSTM is its definition, forwards and backwards", "[layers][recurrent]") {
  for (const bool backwards : {false, true}) {
    const auto layer = lstm({.units = 5, .return_sequences = true, .go_backwards = backwards});
    const Tensor x = input({3, 7, 4}), y = (*layer)(x);
    CHECK(difference(y, reference(*layer, x, backwards), near) == "");
  }
}

TEST_CASE("an LSTM without return_sequences gives its last step", "[layers][recurrent]") {
  for (const bool backwards : {false, true}) {
    const auto layer = lstm({.units = 3, .go_backwards = backwards});
    const Tensor x = input({2, 6, 4}), y = (*layer)(x), all = reference(*layer, x, backwards);
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t u = 0; u < 3; ++u) CHECK(std::fabs(y.at(b * 3 + u) - all.at((b * 6 + 5) * 3 + u)) < 1e-12);
  }
}

TEST_CASE("an LSTM's forget gate is open at first, unless unit_forget_bias is off", "[layers][recurrent]") {
  for (const bool open : {true, false}) {
    const auto layer = std::make_shared<LSTM>(LSTMOptions{.units = 2, .unit_forget_bias = open});
    (*layer)(Tensor({1, 1, 1}));
    const double forget = open ? 1 : 0;
    CHECK(numbers(layer->get_weights()[2]) == std::vector<double>{0, 0, forget, forget, 0, 0, 0, 0});
  }
}

TEST_CASE("a masked step leaves an LSTM's state as it is", "[layers][recurrent]") {
  const auto layer = lstm({.units = 3, .return_sequences = true});
  const Tensor x = input({1, 5, 2});
  const auto masked = [&](std::vector<double> mask) {
    return run({x, tensor_of({1, 5}, DType::boolean, mask)},
               [&](std::span<const Value> v) { return (*layer)(v[0].with_mask(v[1])); });
  };
  // Without the second step, the others are those of a sequence without it.
  const Tensor y = masked({1, 0, 1, 1, 1});
  Tensor shorter({1, 4, 2}, DType::float64);
  for (std::int64_t t = 0, from = 0; t < 4; ++t, ++from) {
    from += t == 1;
    for (std::int64_t f = 0; f < 2; ++f)
      shorter.data<double>()[static_cast<std::size_t>(t * 2 + f)] = x.at(from * 2 + f);
  }
  const Tensor want = reference(*layer, shorter, false);
  const std::vector<std::int64_t> shown{0, 0, 1, 2, 3};
  for (std::int64_t t = 0; t < 5; ++t)
    for (std::int64_t u = 0; u < 3; ++u)
      CHECK(std::fabs(y.at(t * 3 + u) - want.at(shown[static_cast<std::size_t>(t)] * 3 + u)) < 1e-12);
}

TEST_CASE("zero_output_for_mask gives zeros where a step is masked", "[layers][recurrent]") {
  for (const bool sequences : {true, false}) {
    const auto layer = lstm({.units = 2, .return_sequences = sequences, .zero_output_for_mask = true});
    const Tensor y = run({input({1, 3, 2}), tensor_of({1, 3}, DType::boolean, {1, 1, 0})},
                         [&](std::span<const Value> v) { return ops::absolute((*layer)(v[0].with_mask(v[1]))); });
    const std::int64_t last = y.size() - 2;
    CHECK(y.at(last) == 0);
    CHECK(y.at(last + 1) == 0);
    if (sequences) CHECK(y.at(0) > 0);
  }
}

TEST_CASE("a stateful LSTM goes on where the batch before ended", "[layers][recurrent]") {
  const auto layer = lstm({.units = 3, .stateful = true});
  const Tensor x = input({2, 3, 2});
  const Tensor first = (*layer)(x), second = (*layer)(x);
  CHECK_FALSE(same_bits(first, second));
  layer->reset_state();
  CHECK(same_bits((*layer)(x), first));
  CHECK(same_bits((*layer)(x), second));
  CHECK(error_of([&] { (*layer)(input({3, 3, 2})); }).find("for which the stateful layer was built") !=
        std::string::npos);
}

TEST_CASE("an LSTM begins with the state it is given, and says in which it ends", "[layers][recurrent]") {
  const auto layer = lstm({.units = 3});
  const Tensor x = input({2, 6, 4});
  const Tensor whole = (*layer)(x);
  Tensor halves[2];
  for (int half = 0; half < 2; ++half) {
    halves[half] = Tensor({2, 3, 4}, DType::float64);
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = 0; i < 12; ++i)
        halves[half].data<double>()[static_cast<std::size_t>(b * 12 + i)] = x.at(b * 24 + half * 12 + i);
  }
  const Tensor joined = run({halves[0], halves[1]}, [&](std::span<const Value> v) {
    const LSTM::Outcome first = layer->call_with_state(v[0]);
    return layer->call_with_state(v[1], first.h, first.c).output;
  });
  CHECK(difference(joined, whole, near) == "");
}

TEST_CASE("an LSTM's dropout is for training, and the same at every step", "[layers][recurrent]") {
  const auto layer = lstm({.units = 4, .dropout = 0.5, .recurrent_dropout = 0.5, .seed = 3});
  const Tensor x = input({8, 4, 6});
  CHECK(same_bits((*layer)(x), (*layer)(x)));
  CHECK_FALSE(same_bits((*layer)(x, true), (*layer)(x)));
  CHECK_FALSE(same_bits((*layer)(x, true), (*layer)(x, true)));
}

TEST_CASE("a loop is compiled once, whatever the number of its steps", "[execution][recurrent]") {
  const auto instructions = [](std::int64_t steps) {
    const auto layer = lstm({.units = 4});
    Compiled compiled(std::vector{input({2, steps, 3})}, [&](Graph&, std::span<const Value> v) {
      const Value loss = ops::sum((*layer)(v[0], true));
      return Compiled::Outcome{gradients(loss, layer->trainable_variables()), {}};
    });
    CHECK(compiled.count("Scan") == 2);
    return compiled.plan().instructions().size();
  };
  CHECK(instructions(2) == instructions(200));
}

TEST_CASE("an LSTM says what it refuses", "[layers][recurrent]") {
  CHECK(error_of([] { layers::lstm({}); }).find("units = 0 - expected a positive number") != std::string::npos);
  CHECK(error_of([] { layers::lstm({.units = 2, .dropout = 2}); }).find("a dropout rate of 2") != std::string::npos);
  const auto layer = lstm({.units = 2});
  CHECK(error_of([&] { (*layer)(input({2, 3})); }).find("expected [batch, steps, features]") != std::string::npos);
  (*layer)(input({2, 3, 4}));
  CHECK(error_of([&] { (*layer)(input({2, 3, 5})); }).find("expected input of shape [batch, steps, 4]") !=
        std::string::npos);
}

TEST_CASE("an orthogonal matrix keeps lengths and angles", "[initializers]") {
  for (const Shape& shape : {Shape{6, 6}, Shape{3, 8}, Shape{8, 3}, Shape{2, 4, 3}}) {
    const Tensor q = (*initializers::orthogonal({.gain = 2, .seed = 1}))(shape, DType::float64);
    const std::int64_t columns = shape[-1], rows = shape.size() / columns;
    const bool wide = rows < columns;
    const std::int64_t lines = wide ? rows : columns, length = wide ? columns : rows;
    const auto element = [&](std::int64_t line, std::int64_t i) {
      return wide ? q.at(line * columns + i) : q.at(i * columns + line);
    };
    for (std::int64_t a = 0; a < lines; ++a)
      for (std::int64_t b = 0; b < lines; ++b) {
        double product = 0;
        for (std::int64_t i = 0; i < length; ++i) product += element(a, i) * element(b, i);
        CHECK(std::fabs(product - (a == b ? 4 : 0)) < 1e-12);
      }
  }
}
