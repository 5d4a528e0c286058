#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/layers/layers.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "support.hpp"

// The layers of a transformer, and layers of several inputs.
using namespace etude;
using namespace etude::testing;

namespace {

using Values = std::span<const Value>;

/// Random weights and biases.
void randomise(Layer& layer, std::uint64_t seed) {
  Random random = draws(seed);
  std::vector<Tensor> weights;
  for (const Variable& weight : layer.weights())
    weights.push_back(random_tensor(random, weight.shape(), weight.dtype()));
  layer.set_weights(weights);
}

struct Reference {
  Tensor output, scores;
};

/// Multi-head attention by its definition: query [b, t, n], key and value [b, s, n]; `attends(b, i, j)`.
Reference attention(const Layer& layer, const Tensor& query, const Tensor& value, const Tensor& key,
                    const std::function<bool(std::int64_t, std::int64_t, std::int64_t)>& attends) {
  const std::vector<Tensor> w = layer.get_weights();
  const std::int64_t batch = query.shape()[0], t = query.shape()[1], s = value.shape()[1], heads = w[0].shape()[1],
                     dim = w[0].shape()[2], value_dim = w[4].shape()[2], out = w[6].shape()[2];
  const auto project = [&](const Tensor& x, std::size_t at, std::int64_t b, std::int64_t i, std::int64_t h,
                           std::int64_t d) {
    const std::int64_t n = x.shape()[2], width = w[at].shape()[2];
    double sum = w[at + 1].at(h * width + d);
    for (std::int64_t f = 0; f < n; ++f)
      sum += x.at((b * x.shape()[1] + i) * n + f) * w[at].at((f * heads + h) * width + d);
    return sum;
  };
  Reference result{Tensor({batch, t, out}, DType::float64), Tensor({batch, heads, t, s}, DType::float64)};
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = 0; i < t; ++i) {
      std::vector<double> mixed;
      for (std::int64_t h = 0; h < heads; ++h) {
        std::vector<double> p;
        double total = 0;
        for (std::int64_t j = 0; j < s; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < dim; ++d) score += project(query, 0, b, i, h, d) * project(key, 2, b, j, h, d);
          p.push_back(attends(b, i, j) ? std::exp(score / std::sqrt(static_cast<double>(dim))) : 0);
          total += p.back();
        }
        for (std::int64_t j = 0; j < s; ++j)
          result.scores.data<double>()[static_cast<std::size_t>(((b * heads + h) * t + i) * s + j)] =
              p[static_cast<std::size_t>(j)] / total;
        for (std::int64_t d = 0; d < value_dim; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < s; ++j)
            sum += p[static_cast<std::size_t>(j)] / total * project(value, 4, b, j, h, d);
          mixed.push_back(sum);
        }
      }
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = w[7].at(o);
        for (std::size_t m = 0; m < mixed.size(); ++m)
          sum += mixed[m] * w[6].at(static_cast<std::int64_t>(m) * out + o);
        result.output.data<double>()[static_cast<std::size_t>((b * t + i) * out + o)] = sum;
      }
    }
  return result;
}

bool always(std::int64_t, std::int64_t, std::int64_t) { return true; }

}  // namespace

TEST_CASE("MultiHeadAttention matches its definition, with Keras's weights", "[layers][attention]") {
  const FloatX wide(DType::float64);
  Random random = draws(1);
  const Tensor query = random_tensor(random, {2, 5, 6}), value = random_tensor(random, {2, 7, 4}),
               key = random_tensor(random, {2, 7, 3});
  const auto layer = layers::multi_head_attention({.num_heads = 3, .key_dim = 4, .value_dim = 2, .name = "mha"});
  (*layer)({query, value, key});
  std::string names;
  std::vector<Shape> shapes;
  for (const Variable& weight : layer->weights()) names += weight.name() + ' ', shapes.push_back(weight.shape());
  CHECK(names ==
        "mha/query/kernel mha/query/bias mha/key/kernel mha/key/bias mha/value/kernel mha/value/bias "
        "mha/attention_output/kernel mha/attention_output/bias ");
  CHECK(shapes == std::vector<Shape>{{6, 3, 4}, {3, 4}, {3, 3, 4}, {3, 4}, {4, 3, 2}, {3, 2}, {3, 2, 6}, {6}});
  randomise(*layer, 2);
  CHECK(difference((*layer)({query, value, key}), attention(*layer, query, value, key, always).output, {1e-12, 0}) ==
        "");
}

TEST_CASE("MultiHeadAttention attends only to unmasked entries", "[layers][attention]") {
  const FloatX wide(DType::float64);
  Random random = draws(3);
  const Tensor x = random_tensor(random, {2, 5, 6}), mask = random_tensor(random, {2, 5, 5}, DType::boolean, 0, 2);
  Tensor steps = Tensor({2, 5}, DType::boolean);
  for (const std::size_t i : std::initializer_list<std::size_t>{0, 1, 2, 5, 6, 7, 8}) steps.data<bool>()[i] = true;
  const auto layer = layers::multi_head_attention({.num_heads = 2, .key_dim = 3});
  (*layer)({x, x});
  randomise(*layer, 4);
  const auto attended = [&](const std::function<Attended(Values)>& apply) {
    return evaluate(default_device(), std::vector{x, mask, steps, x.clone()}, [&](Values v) {
      const Attended result = apply(v);
      return std::vector{result.output, result.scores};
    });
  };
  const auto check_against = [&](const std::vector<Tensor>& got, const auto& attends) {
    const Reference want = attention(*layer, x, x, x, attends);
    CHECK(difference(got[1], want.scores, {1e-9, 0}) == "");
    CHECK(difference(got[0], want.output, {1e-9, 0}) == "");
  };
  check_against(
      attended([&](Values v) { return layer->attend({.query = v[0], .value = v[0], .use_causal_mask = true}); }),
      [](auto, auto i, auto j) { return j <= i; });
  check_against(attended([&](Values v) {
                  // Every step attends to at least one step.
                  const Value first = ops::one_hot(ops::argmax(ops::cast(v[1], DType::float64)), 5);
                  const Value own = ops::logical_or(v[1], ops::cast(first, DType::boolean));
                  return layer->attend({.query = v[0], .value = v[0], .attention_mask = own});
                }),
                [&](auto b, auto i, auto j) {
                  std::int64_t first = 0;
                  while (first < 4 && mask.at((b * 5 + i) * 5 + first) == 0) ++first;
                  if (mask.at((b * 5 + i) * 5 + first) == 0) first = 0;
                  return mask.at((b * 5 + i) * 5 + j) != 0 || j == first;
                });
  // A mask of the value: every step attends to the unmasked steps.
  check_against(attended([&](Values v) { return layer->attend({.query = v[0], .value = v[3].with_mask(v[2])}); }),
                [&](auto b, auto, auto j) { return steps.at(b * 5 + j) != 0; });
}

TEST_CASE("MultiHeadAttention attends over the axes of attention_axes", "[layers][attention]") {
  const FloatX wide(DType::float64);
  Random random = draws(5);
  const Tensor x = random_tensor(random, {2, 3, 4, 6});
  const auto both = layers::multi_head_attention({.num_heads = 2, .key_dim = 3}),
             second = layers::multi_head_attention({.num_heads = 2, .key_dim = 3, .attention_axes = 2});
  const Tensor flat = x.reshape({2, 12, 6}), rows = x.reshape({6, 4, 6});
  (*both)({x, x});
  (*second)({x, x});
  randomise(*both, 6);
  randomise(*second, 7);
  CHECK(difference((*both)({x, x}).reshape({2, 12, 6}), attention(*both, flat, flat, flat, always).output,
                   {1e-12, 0}) == "");
  CHECK(difference((*second)({x, x}).reshape({6, 4, 6}), attention(*second, rows, rows, rows, always).output,
                   {1e-12, 0}) == "");
}

TEST_CASE("MultiHeadAttention drops scores in training only", "[layers][attention]") {
  Random random = draws(8);
  const Tensor x = random_tensor(random, {2, 5, 6}, DType::float32);
  const auto layer = layers::multi_head_attention({.num_heads = 2, .key_dim = 3, .dropout = 0.5, .seed = 3});
  const Tensor still = (*layer)({x, x});
  CHECK(same_bits((*layer)({x, x}), still));
  CHECK(!same_bits((*layer)({x, x}, true), still));
  CHECK(layer->weights().size() == 8);
  CHECK(layer->variables().size() == 9);
}

TEST_CASE("MultiHeadAttention refuses inputs and options that do not fit", "[layers][attention]") {
  const Tensor x({2, 5, 6});
  const auto said = [](const std::function<void()>& action) { return error_of(action); };
  CHECK(said([] { layers::multi_head_attention({.num_heads = 0, .key_dim = 3, .name = "a"}); }) ==
        "[MultiHeadAttention \"a\"] num_heads = 0, key_dim = 3, value_dim = 3 - expected positive numbers - set both.");
  const auto layer = layers::multi_head_attention({.num_heads = 2, .key_dim = 3, .name = "b"});
  CHECK(said([&] { (*layer)(x); }).find("expected a list of query and value") != std::string::npos);
  CHECK(said([&] { (*layer)({x, Tensor({2, 4, 6}), Tensor({2, 3, 6})}); }).find("same steps") != std::string::npos);
  CHECK((*layer)({x, x}).shape() == x.shape());
  CHECK(said([&] { (*layer)({Tensor({2, 5, 7}), Tensor({2, 5, 7})}); }).find("for which it was built") !=
        std::string::npos);
  const auto axes = layers::multi_head_attention({.num_heads = 2, .key_dim = 3, .attention_axes = {1, 2}});
  CHECK(said([&] { (*axes)({x, x}); }).find("attention_axes = [1, 2]") != std::string::npos);
}

TEST_CASE("Add sums its inputs, of equal ranks or not", "[layers]") {
  const auto add = layers::add();
  const Tensor a = Tensor::from({2, 2}, {1, 2, 3, 4}), b = Tensor::from({2, 1}, {10, 20}),
               c = Tensor::from({2, 3, 2}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
  CHECK(numbers((*add)({a, b})) == std::vector<double>{11, 12, 23, 24});
  CHECK(numbers((*add)({a, c, a})) == std::vector<double>{2, 4, 3, 5, 4, 6, 6, 8, 7, 9, 8, 10});
  CHECK(error_of([&] { (*add)(a); }).find("expected a list of inputs") != std::string::npos);
  CHECK(error_of([&] { (*add)({a, Tensor({3, 2})}); }).find("expected equal batch sizes") != std::string::npos);
  CHECK(error_of([&] { (*layers::flatten())({a, a}); }).find("called on 2 inputs") != std::string::npos);
}

TEST_CASE("Add has a mask if all its inputs have one", "[layers]") {
  const Tensor x({2, 3, 4}), m = tensor_of({2, 3}, DType::boolean, {1, 0, 0, 1, 1, 0}),
                             n = tensor_of({2, 3}, DType::boolean, {0, 0, 1, 1, 0, 0});
  const auto add = layers::add();
  const auto masks = evaluate(default_device(), std::vector{x, m, n}, [&](Values v) {
    const Value a = (v[0] + 1.0).with_mask(v[1]), b = (v[0] + 2.0).with_mask(v[2]);
    const Value one_masked = (*add)({a, v[0]}), both_masked = (*add)({a, b});
    CHECK(!one_masked.mask());
    return std::vector{both_masked.mask()};
  });
  CHECK(numbers(masks[0]) == std::vector<double>{1, 0, 1, 1, 1, 0});
}

TEST_CASE("LayerNormalization normalises over any axes", "[layers]") {
  const FloatX wide(DType::float64);
  Random random = draws(9);
  const Tensor x = random_tensor(random, {3, 4, 5});
  const auto layer = layers::layer_normalization({.axis = {0, 2}, .epsilon = 0.01});
  (*layer)(x);
  CHECK(layer->weights()[0].shape() == Shape{3, 5});
  randomise(*layer, 10);
  const Tensor y = (*layer)(x), gamma = layer->get_weights()[0], beta = layer->get_weights()[1];
  for (std::int64_t j = 0; j < 4; ++j) {
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < 5; ++k) mean += x.at((i * 4 + j) * 5 + k) / 15;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < 5; ++k) variance += std::pow(x.at((i * 4 + j) * 5 + k) - mean, 2) / 15;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < 5; ++k) {
        const double even = (x.at((i * 4 + j) * 5 + k) - mean) / std::sqrt(variance + 0.01);
        CHECK(std::abs(y.at((i * 4 + j) * 5 + k) - (even * gamma.at(i * 5 + k) + beta.at(i * 5 + k))) < 1e-12);
      }
  }
  CHECK(layers::layer_normalization({.center = false, .scale = false})->weights().empty());
  CHECK(error_of([&] { (*layers::layer_normalization({.axis = 3}))(x); }) != "no error");
  CHECK(error_of([&] { (*layer)(Tensor({2, 4, 5})); }).find("for which it was built") != std::string::npos);
}
