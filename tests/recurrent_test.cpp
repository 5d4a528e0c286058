#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "recurrent_kinds.hpp"

// Recurrent layers, and the loops of which they consist.
using namespace etude;
using namespace etude::testing;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Tensor input(const Shape& shape) {
  Random random = draws(5);
  return random_tensor(random, shape);
}

Tensor masked(Recurrent& layer, const Tensor& x, const Vector& mask) {
  return run({x, tensor_of(x.shape().slice(0, 2), DType::boolean, mask)},
             [&](std::span<const Value> v) { return layer(v[0].with_mask(v[1])); });
}

/// The instructions of a plan's loops, by loop.
std::vector<std::vector<std::string>> loops_of(Compiled& compiled) {
  std::vector<std::vector<std::string>> result;
  for (const Instruction& one : compiled.plan().instructions())
    if (const auto* scan = std::get_if<instruction::Scan>(&one)) {
      result.emplace_back();
      for (const Instruction& inner : scan->body->instructions) result.back().emplace_back(name_of(inner));
    }
  return result;
}

Compiled differentiated(Recurrent& layer, const Tensor& x) {
  return Compiled(std::vector{x}, [&](Graph&, std::span<const Value> v) {
    const Value loss = ops::sum(layer(v[0], true));
    return Compiled::Outcome{gradients(loss, layer.trainable_variables()), {}};
  });
}

constexpr Tolerance near{1e-12, 1e-12};

}  // namespace

TEST_CASE("a recurrent layer matches its equations, forwards and backwards, with and without bias",
          "[layers][recurrent]") {
  for (const Kind& kind : kinds())
    for (const bool backwards : {false, true})
      for (const bool bias : {false, true}) {
        INFO(kind.name);
        const auto layer =
            kind.make({.units = 5, .use_bias = bias, .return_sequences = true, .go_backwards = backwards});
        const Tensor x = input({3, 7, 4}), y = (*layer)(x);
        CHECK(difference(y, reference(kind, layer->get_weights(), x, backwards), near) == "");
      }
}

TEST_CASE("a recurrent layer's gradients match finite differences of its equations", "[layers][recurrent]") {
  for (const Kind& kind : kinds()) {
    const auto layer = kind.make({.units = 2});
    const Tensor x = input({2, 4, 3});
    Compiled compiled = differentiated(*layer, x);
    compiled.run({x});
    const std::vector<Tensor> weights = layer->get_weights();
    const auto loss = [&](const std::vector<Tensor>& moved) {
      const Tensor y = reference(kind, moved, x);
      double sum = 0;
      for (const std::int64_t last : {6, 7, 14, 15}) sum += y.at(last);
      return sum;
    };
    for (std::size_t w = 0; w < weights.size(); ++w)
      for (std::int64_t i = 0; i < weights[w].size(); ++i) {
        INFO(kind.name << ", weight " << w << ", element " << i);
        constexpr double step = 1e-5;
        const auto loss_at = [&](double distance) {
          std::vector<Tensor> moved = weights;
          Vector elements = numbers(moved[w]);
          elements[at(i)] += distance;
          moved[w] = tensor_of(moved[w].shape(), DType::float64, elements);
          return loss(moved);
        };
        CHECK(std::fabs(compiled.plan().result(w).at(i) - (loss_at(step) - loss_at(-step)) / (2 * step)) < 1e-8);
      }
  }
}

TEST_CASE("a recurrent layer without return_sequences returns its last step", "[layers][recurrent]") {
  for (const Kind& kind : kinds())
    for (const bool backwards : {false, true}) {
      INFO(kind.name);
      const auto layer = kind.make({.go_backwards = backwards});
      const Tensor x = input({2, 6, 4}), y = (*layer)(x), all = reference(kind, layer->get_weights(), x, backwards);
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t u = 0; u < 3; ++u) CHECK(std::fabs(y.at(b * 3 + u) - all.at((b * 6 + 5) * 3 + u)) < 1e-12);
    }
}

TEST_CASE("with return_state a recurrent layer returns its output, then its state", "[layers][recurrent]") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const auto layer = kind.make({.return_sequences = true, .return_state = true});
    const std::vector<Tensor> x{input({2, 6, 4})};
    const auto output = [&](std::size_t which) {
      return run_on(default_device(), x, [&](std::span<const Value> v) {
        const Outputs outputs = (*layer)(std::vector{v[0]});
        CHECK(outputs.size() == 1 + kind.states);
        return outputs[which];
      });
    };
    const Tensor all = output(0), h = output(1);
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t u = 0; u < 3; ++u) CHECK(h.at(b * 3 + u) == all.at((b * 6 + 5) * 3 + u));
  }
}

TEST_CASE("an LSTM's forget gate has bias 1, unless unit_forget_bias is off", "[layers][recurrent]") {
  for (const bool open : {true, false}) {
    const auto layer = layers::lstm({.units = 2, .unit_forget_bias = open});
    (*layer)(Tensor({1, 1, 1}));
    const double forget = open ? 1 : 0;
    CHECK(numbers(layer->get_weights()[2]) == std::vector<double>{0, 0, forget, forget, 0, 0, 0, 0});
  }
}

TEST_CASE("a GRU that resets after the product has a bias for the inputs and one for the state",
          "[layers][recurrent]") {
  for (const bool after : {true, false}) {
    const auto layer = layers::gru({.units = 2, .reset_after = after});
    (*layer)(Tensor({1, 1, 1}));
    CHECK(layer->get_weights()[2].shape() == (after ? Shape{2, 6} : Shape{6}));
  }
}

TEST_CASE("a masked step does not change a recurrent layer's state", "[layers][recurrent]") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const auto layer = kind.make({.return_sequences = true});
    const Tensor x = input({1, 5, 2});
    // The other steps equal those of a sequence without the second step.
    const Tensor y = masked(*layer, x, {1, 0, 1, 1, 1});
    Tensor shorter({1, 4, 2}, DType::float64);
    for (std::int64_t t = 0, from = 0; t < 4; ++t, ++from) {
      from += t == 1;
      for (std::int64_t f = 0; f < 2; ++f) shorter.data<double>()[at(t * 2 + f)] = x.at(from * 2 + f);
    }
    const Tensor want = reference(kind, layer->get_weights(), shorter);
    const std::vector<std::int64_t> shown{0, 0, 1, 2, 3};
    for (std::int64_t t = 0; t < 5; ++t)
      for (std::int64_t u = 0; u < 3; ++u) CHECK(std::fabs(y.at(t * 3 + u) - want.at(shown[at(t)] * 3 + u)) < 1e-12);
  }
}

TEST_CASE("before the first valid step the output is zero, for any initial state (A-15)", "[layers][recurrent]") {
  for (const Kind& kind : kinds())
    for (const bool sequences : {true, false}) {
      INFO(kind.name);
      const auto layer = kind.make({.units = 2, .return_sequences = sequences, .stateful = true});
      const Tensor x = input({1, 3, 2});
      masked(*layer, x, {1, 1, 1});
      for (const double zero : numbers(masked(*layer, x, {0, 0, 0}))) CHECK(zero == 0);
      // The state is passed on unchanged: the next output is that of the fourth step.
      const Vector y = numbers(masked(*layer, x, {1, 0, 0}));
      Vector four = numbers(x);
      four.insert(four.end(), four.begin(), four.begin() + 2);
      const Tensor want = reference(kind, layer->get_weights(), tensor_of({1, 4, 2}, DType::float64, four));
      for (std::size_t i = 0; i < y.size(); ++i)
        CHECK(std::fabs(y[i] - want.at(6 + static_cast<std::int64_t>(i % 2))) < 1e-12);
    }
}

TEST_CASE("zero_output_for_mask returns zeros for masked steps", "[layers][recurrent]") {
  for (const Kind& kind : kinds())
    for (const bool sequences : {true, false}) {
      INFO(kind.name);
      const auto layer = kind.make({.units = 2, .return_sequences = sequences, .zero_output_for_mask = true});
      const Tensor y = masked(*layer, input({1, 3, 2}), {1, 1, 0});
      const std::int64_t last = y.size() - 2;
      CHECK(y.at(last) == 0);
      CHECK(y.at(last + 1) == 0);
      if (sequences) CHECK(y.at(0) != 0);
    }
}

TEST_CASE("a stateful recurrent layer continues from the state of the previous batch (A-16)", "[layers][recurrent]") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const auto layer = kind.make({.stateful = true});
    const Tensor x = input({2, 3, 2});
    Tensor twice({2, 6, 2}, DType::float64);
    for (std::int64_t i = 0; i < twice.size(); ++i) twice.data<double>()[at(i)] = x.at(i / 12 * 6 + i % 6);
    const Tensor first = (*layer)(x), second = (*layer)(x), want = reference(kind, layer->get_weights(), twice);
    for (std::int64_t i = 0; i < 6; ++i) {
      CHECK(std::fabs(first.at(i) - want.at((i / 3 * 6 + 2) * 3 + i % 3)) < 1e-12);
      CHECK(std::fabs(second.at(i) - want.at((i / 3 * 6 + 5) * 3 + i % 3)) < 1e-12);
    }
    layer->reset_state();
    CHECK(same_bits((*layer)(x), first));
    CHECK(error_of([&] { (*layer)(input({3, 3, 2})); }).find("for which the stateful layer was built") !=
          std::string::npos);
  }
}

TEST_CASE("a recurrent layer accepts an initial state, and returns its final one", "[layers][recurrent]") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const auto layer = kind.make({});
    const Tensor x = input({2, 6, 4});
    const Tensor whole = (*layer)(x);
    Tensor halves[2];
    for (int half = 0; half < 2; ++half) {
      halves[half] = Tensor({2, 3, 4}, DType::float64);
      for (std::int64_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < 12; ++i)
          halves[half].data<double>()[at(b * 12 + i)] = x.at(b * 24 + half * 12 + i);
    }
    const Tensor joined = run({halves[0], halves[1]}, [&](std::span<const Value> v) {
      return layer->call_with_state(v[1], layer->call_with_state(v[0]).state).output;
    });
    CHECK(difference(joined, whole, near) == "");
    const Tensor left_out = run({x}, [&](std::span<const Value> v) {
      return layer->call_with_state(v[0], std::vector<Value>(kind.states)).output;
    });
    CHECK(same_bits(left_out, whole));
  }
}

TEST_CASE("a recurrent layer's dropout applies in training only", "[layers][recurrent]") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const auto layer = kind.make({.units = 4, .dropout = 0.5, .recurrent_dropout = 0.5, .seed = 3});
    const Tensor x = input({8, 4, 6});
    CHECK(same_bits((*layer)(x), (*layer)(x)));
    CHECK_FALSE(same_bits((*layer)(x, true), (*layer)(x)));
    CHECK_FALSE(same_bits((*layer)(x, true), (*layer)(x, true)));
  }
}

TEST_CASE("dropped inputs are missing from the products only", "[layers][recurrent]") {
  for (const Kind& kind : kinds())
    for (const std::size_t product : {std::size_t{0}, std::size_t{1}}) {
      INFO(kind.name << ", product " << product);
      const auto layer = kind.make({.dropout = product == 0 ? 1.0 : 0.0,
                                    .recurrent_dropout = product == 1 ? 1.0 : 0.0,
                                    .return_sequences = true});
      const Tensor x = input({2, 5, 4}), y = (*layer)(x, true);
      std::vector<Tensor> weights = layer->get_weights();
      weights[product] = Tensor(weights[product].shape(), DType::float64);
      CHECK(difference(y, reference(kind, weights, x), near) == "");
    }
}

TEST_CASE("a dropout mask is one per sample, the same at every step", "[layers][recurrent]") {
  const auto layer = layers::simple_rnn(
      {.units = 6, .recurrent_initializer = "zeros", .dropout = 0.5, .return_sequences = true, .dtype = "float64"});
  const Tensor y = (*layer)(tensor_of({2, 5, 8}, DType::float64, Vector(80, 1)), true);
  for (std::int64_t i = 0; i < y.size(); ++i) CHECK(y.at(i) == y.at(i / 30 * 30 + i % 6));
  bool differ = false;
  for (std::int64_t i = 0; i < 6; ++i) differ = differ || y.at(i) != y.at(30 + i);
  CHECK(differ);
}

TEST_CASE("a loop is compiled once, for any number of its steps", "[execution][recurrent]") {
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    const auto instructions = [&](std::int64_t steps) {
      const auto layer = kind.make({.units = 4});
      Compiled compiled = differentiated(*layer, input({2, steps, 3}));
      CHECK(compiled.count("Scan") == 2);
      return compiled.plan().instructions().size();
    };
    CHECK(instructions(2) == instructions(200));
  }
}

TEST_CASE("a step of a loop is the products that need the state, and one pass over their results",
          "[execution][recurrent]") {
  const auto body = [](std::size_t kind) {
    const auto layer = kinds()[kind].make({.units = 4});
    Compiled compiled = differentiated(*layer, input({2, 6, 3}));
    return loops_of(compiled);
  };
  using Names = std::vector<std::string>;
  CHECK(body(0)[0] == Names{"Gemm", "Elementwise"});
  CHECK(body(1)[0] == Names{"Gemm", "Elementwise"});
  CHECK(body(2)[0] == Names{"Gemm", "Elementwise", "Gemm"});
  CHECK(body(3)[0] == Names{"Gemm"});
  // As many products in the backward loop, of the gradients; those of the weights follow the loop, one over all steps.
  for (std::size_t kind = 0; kind < kinds().size(); ++kind) {
    INFO(kinds()[kind].name);
    const auto loops = body(kind);
    CHECK(std::ranges::count(loops[1], "Gemm") == std::ranges::count(loops[0], "Gemm"));
    CHECK(std::ranges::count(loops[1], "Elementwise") <= 3);
  }
}

TEST_CASE("a recurrent layer refuses unsupported inputs and options", "[layers][recurrent]") {
  const auto says = [](const std::function<void()>& action, const char* what) {
    CHECK(error_of(action).find(what) != std::string::npos);
  };
  for (const Kind& kind : kinds()) {
    INFO(kind.name);
    says([&] { kind.make({.units = 0}); }, "units = 0 - expected a positive number");
    says([&] { kind.make({.dropout = 2}); }, "a dropout rate of 2");
    const auto layer = kind.make({.units = 2});
    says([&] { (*layer)(input({2, 3})); }, "expected [batch, steps, features]");
    (*layer)(input({2, 3, 4}));
    says([&] { (*layer)(input({2, 3, 5})); }, "expected input of shape [batch, steps, 4]");
    says([&] { (*layer)(std::vector(4, input({2, 3, 4}))); }, kind.states == 1 ? "{x, h}" : "{x, h, c}");
    std::vector<Tensor> wrong(1 + kind.states, input({2, 3}));
    wrong[0] = input({2, 3, 4});
    says([&] { (*layer)(wrong); }, "an initial state of shape [2, 3] - expected [2, 2]");
  }
  says([] { layers::gru({.units = 2, .recurrent_activation = "sigmod"}); }, "sigmod");
  says([] { layers::simple_rnn({.units = 2, .activation = "tangens"}); }, "tangens");
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
