#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "etude/etude.hpp"
#include "support.hpp"

// Losses and activations against central differences, and at the points where a formula could overflow.
namespace etude {
namespace {

using testing::numbers;
using testing::tensor_of;

constexpr double step = 0x1p-20;

using Binary = std::function<Value(Value x, Value other)>;

/// sum(f(x, other)).
double sum_at(const Tensor& x, const Tensor& other, const Binary& f) {
  return testing::run({x, other}, [&](std::span<const Value> v) { return ops::sum(f(v[0], v[1])); }).item();
}

/// d sum(f(x, other)) / dx.
std::vector<double> gradient_at(const Tensor& x, const Tensor& other, const Binary& f) {
  return numbers(testing::run(
      {x, other}, [&](std::span<const Value> v) { return gradients(ops::sum(f(v[0], v[1])), v.first(1)).at(0); }));
}

/// The same by central differences.
std::vector<double> differences_at(const Tensor& x, const Tensor& other, const Binary& f) {
  std::vector<double> result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.shape().size()); ++i) {
    Tensor above = x.clone(), below = x.clone();
    above.data<double>()[i] += step;
    below.data<double>()[i] -= step;
    result.push_back((sum_at(above, other, f) - sum_at(below, other, f)) / (2 * step));
  }
  return result;
}

}  // namespace

TEST_CASE("activations: each gradient matches finite differences", "[activations]") {
  const std::string name =
      GENERATE("relu", "leaky_relu", "relu6", "elu", "selu", "celu", "gelu", "silu", "mish", "softplus", "softsign",
               "squareplus", "exponential", "sigmoid", "log_sigmoid", "hard_sigmoid", "hard_silu", "tanh", "hard_tanh",
               "tanh_shrink", "hard_shrink", "soft_shrink", "threshold", "softmax", "log_softmax", "sparsemax",
               "sparse_plus", "sparse_sigmoid", "glu");
  CAPTURE(name);
  const Tensor x = tensor_of({2, 4}, DType::float64, {-4.2, -1.7, -0.8, -0.3, 0.2, 0.7, 1.6, 3.9});
  // Weighted, because the sum of a softmax is always 1.
  const Binary weighted = [&](Value v, Value) {
    const Value y = activations::get(name)(v);
    return y * (y + 0.5);
  };
  CHECK(testing::difference(gradient_at(x, x, weighted), differences_at(x, x, weighted), {1e-6, 1e-5}) == "");
}

TEST_CASE("activations: far from 0 their values and gradients are finite", "[activations]") {
  const std::string name = GENERATE("elu", "selu", "celu", "gelu", "silu", "mish", "softsign", "squareplus",
                                    "log_sigmoid", "log_softmax", "sparsemax", "sparse_plus");
  CAPTURE(name);
  const Tensor x = Tensor::from<float>({1, 4}, {-1000, -100, 100, 1000});
  for (const double y : numbers(testing::run({x}, [&](auto v) { return activations::get(name)(v[0]); })))
    CHECK(std::isfinite(y));
  const auto apply = [&](Value v, Value) { return activations::get(name)(v); };
  for (const double dx : gradient_at(x, x, apply)) CHECK(std::isfinite(dx));
}

TEST_CASE("sparse_categorical_crossentropy ignores a class of sequences of one step, in the loss and in the metric",
          "[losses]") {
  const Tensor labels = tensor_of({3, 1}, DType::int32, {1, 0, 2});
  const Tensor p = tensor_of({3, 1, 3}, DType::float32, {.2, .5, .3, .2, .5, .3, .2, .5, .3});
  const double expected = 0.9485599994659424;  // Keras 3.15.1 with JAX; the metric is 0.6323733
  const LossPtr loss = losses::sparse_categorical_crossentropy({.ignore_class = 0});
  CHECK(std::abs(testing::run({labels, p}, [&](std::span<const Value> v) { return (*loss)(v[0], v[1]); }).item() -
                 expected) < 1e-6);
  Sequential model({layers::rescaling({.scale = 1})});
  model.compile({.loss = loss, .metrics = {metrics::sparse_categorical_crossentropy({.ignore_class = 0})}});
  CHECK(std::abs(model.evaluate(p, labels, {.verbose = 0})["sparse_categorical_crossentropy"] - expected * 2 / 3) <
        1e-6);
}

TEST_CASE("elu, selu and celu have the gradient of their lower branch at 0, as in JAX", "[activations]") {
  const Tensor zero = tensor_of({1}, DType::float64, {0});
  const auto at_zero = [&](auto function) {
    return gradient_at(zero, zero, [&](Value x, Value) { return function(x); }).front();
  };
  CHECK(at_zero([](Value x) { return activations::elu(x, {.alpha = 0.5}); }) == 0.5);
  CHECK(std::abs(at_zero(activations::selu) - 1.7580993408473766) < 1e-12);
  CHECK(at_zero([](Value x) { return activations::celu(x, {}); }) == 1);
}

TEST_CASE("at ties and bounds gradients are those of Keras with TensorFlow (A-24)", "[activations]") {
  const auto slope = [](double x, const std::function<Value(Value)>& function) {
    const Tensor at = tensor_of({1}, DType::float64, {x});
    return gradient_at(at, at, [&](Value v, Value) { return function(v); }).front();
  };
  using namespace activations;
  const auto at = [&](double low, double high, const std::function<Value(Value)>& function) {
    return std::vector{slope(low, function), slope(high, function)};
  };
  const auto one = [](Value x) { return ops::scalar(1, x); };
  CHECK(at(-2, 3, [](Value x) { return ops::clip(x, -2, 3); }) == std::vector{1.0, 1.0});
  CHECK(slope(1, [&](Value x) { return ops::maximum(x, one(x)); }) == 1);
  CHECK(slope(1, [&](Value x) { return ops::maximum(one(x), x); }) == 0);
  CHECK(slope(1, [&](Value x) { return ops::minimum(x, one(x)); }) == 1);
  CHECK(slope(1, [&](Value x) { return ops::minimum(one(x), x); }) == 0);
  CHECK(at(0, 6, [](Value x) { return relu6(x); }) == std::vector{0.0, 0.0});
  CHECK(at(0, 5, [](Value x) { return relu(x, {.max_value = 5}); }) == std::vector{0.0, 1.0});
  CHECK(slope(0, [](Value x) { return leaky_relu(x, {.negative_slope = 0.25}); }) == 0.25);
  CHECK(at(-3, 3, [](Value x) { return hard_sigmoid(x); }) == std::vector{0.0, 0.0});
  CHECK(at(-3, 3, [](Value x) { return hard_silu(x); }) == std::vector{0.0, 1.0});
  CHECK(at(-1, 1, [](Value x) { return hard_tanh(x); }) == std::vector{1.0, 1.0});
  CHECK(at(-1, 1, [](Value x) { return sparse_sigmoid(x); }) == std::vector{0.0, 0.0});
  CHECK(at(-0.5, 0.5, [](Value x) { return soft_shrink(x); }) == std::vector{0.0, 0.0});
  for (const LossPtr& hinge : {losses::hinge(), losses::squared_hinge()})
    CHECK(slope(1, [&](Value x) { return hinge->call(ops::broadcast_to(one(x), x.shape()), x); }) == 0);
}

TEST_CASE("relu6 and the layer ReLU give 0 for minus infinity, and NaN for NaN", "[activations]") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = tensor_of({3}, DType::float32, {-infinity, infinity, std::nan("")});
  const auto expect = [&](const Tensor& y, double most) {
    CHECK(numbers(y)[0] == 0);
    CHECK(numbers(y)[1] == most);
    CHECK(std::isnan(numbers(y)[2]));
  };
  expect(testing::run({x}, [](std::span<const Value> v) { return activations::relu6(v[0]); }), 6);
  expect(testing::run({x}, [](std::span<const Value> v) { return (*layers::relu())(v[0]); }), infinity);
}

TEST_CASE("gelu's approximation is close to gelu, but not equal", "[activations]") {
  const Tensor x = tensor_of({3}, DType::float64, {-2, 0.5, 2});
  const auto values = [&](bool approximate) {
    return numbers(testing::run({x}, [&](auto v) { return activations::gelu(v[0], {.approximate = approximate}); }));
  };
  CHECK(testing::difference(values(true), values(false), {1e-3, 0}) == "");
  CHECK(values(true) != values(false));
}

TEST_CASE("losses: each gradient matches finite differences", "[losses]") {
  const std::string name =
      GENERATE("mse", "mae", "mape", "msle", "huber", "log_cosh", "cosine_similarity", "hinge", "squared_hinge",
               "categorical_hinge", "kld", "poisson", "binary_crossentropy", "categorical_crossentropy",
               "binary_focal_crossentropy", "categorical_focal_crossentropy", "dice", "tversky");
  CAPTURE(name);
  const Tensor p = tensor_of({2, 3}, DType::float64, {0.2, 0.3, 0.6, 0.7, 0.15, 0.4});
  // Errors in percent of 0 are too large for a comparison.
  const double none = name == "mape" ? 0.5 : 0;
  const Tensor t = tensor_of({2, 3}, DType::float64, {1, none, none, none, none, 1});
  const auto loss = [&](Value y_pred, Value y_true) { return (*losses::get(name))(y_true, y_pred); };
  CHECK(testing::difference(gradient_at(p, t, loss), differences_at(p, t, loss), {1e-6, 1e-5}) == "");
}

TEST_CASE("losses of labels: gradients, and gradients of gradients, match finite differences (R-20, R-21)",
          "[losses]") {
  struct Sample {
    const char* name;
    Tensor p, t;
  };
  const Sample sample = GENERATE(
      Sample{"circle", tensor_of({4, 2}, DType::float64, {0.6, 0.8, 0.8, 0.6, -0.6, 0.8, 0.28, 0.96}),
             tensor_of({4}, DType::float64, {1, 1, 2, 2})},
      Sample{"ctc",
             tensor_of({2, 4, 3}, DType::float64, {0.3, -0.2, 1.1, 0.4, 0.7,  -0.5, 0.2, 0.6,  0.1, -0.9, 0.8, 0.5,
                                                   0.9, 0.1,  0.4, 0.3, -0.3, 0.7,  0.2, -0.6, 0.5, 0.8,  0.1, -0.4}),
             tensor_of({2, 2}, DType::float64, {1, 1, 2, 0})});
  CAPTURE(sample.name);
  const LossPtr loss = std::string(sample.name) == "circle" ? losses::circle({.gamma = 2}) : losses::get(sample.name);
  const Binary value = [&](Value p, Value t) { return (*loss)(t, p); };
  const Binary squares = [&](Value p, Value t) { return ops::square(gradients(value(p, t), std::span(&p, 1)).at(0)); };
  for (const Binary& f : {value, squares})
    CHECK(testing::difference(gradient_at(sample.p, sample.t, f), differences_at(sample.p, sample.t, f),
                              {1e-6, 1e-5}) == "");
}

TEST_CASE("CTC: with one label and one step the loss is that label's crossentropy (R-21)", "[losses]") {
  const Tensor logits = tensor_of({1, 1, 3}, DType::float64, {0.5, -1, 2}),
               label = tensor_of({1, 1}, DType::int32, {2});
  const auto loss = [&](const Tensor& p, const Tensor& t) {
    return testing::run({t, p}, [](auto x) { return (*losses::ctc())(x[0], x[1]); }).item();
  };
  CHECK(std::abs(loss(logits, label) - std::log1p(std::exp(-1.5) + std::exp(-3.0))) < 1e-12);
  CHECK(loss(logits, tensor_of({1, 2}, DType::int32, {1, 2})) > 9e4);
  CHECK(testing::error_of([&] { loss(tensor_of({1, 3}, DType::float64, {0, 0, 0}), label); }) ==
        "[CTC] y_true of shape [1, 1] and y_pred of shape [1, 3] - expected integer labels [batch, labels] and logits "
        "[batch, steps, classes] - check the targets and the last layer.");
}

TEST_CASE("CTC: masked steps do not count (R-21)", "[losses]") {
  const Tensor labels = tensor_of({2, 2}, DType::int32, {1, 2, 2, 0});
  const Tensor all =
      tensor_of({2, 4, 3}, DType::float64, {1, 2, 0, 9, 9, 9, 0, 1, 3, 1, 0, 2, 2, 0, 1, 7, 0, 0, 1, 1, 2, 0, 3, 1});
  const Tensor kept = tensor_of({2, 3, 3}, DType::float64, {1, 2, 0, 0, 1, 3, 1, 0, 2, 2, 0, 1, 1, 1, 2, 0, 3, 1});
  const Tensor mask = Tensor::from<bool>({2, 4}, {true, false, true, true, true, false, true, true});
  const Tensor masked = testing::run({labels, all, mask}, [](std::span<const Value> x) {
    return (*losses::ctc({.reduction = "none"}))(x[0], x[1].with_mask(x[2]));
  });
  const Tensor short_one = testing::run(
      {labels, kept}, [](std::span<const Value> x) { return (*losses::ctc({.reduction = "none"}))(x[0], x[1]); });
  CHECK(numbers(masked) == numbers(short_one));
}

TEST_CASE("Circle: a sample without another of its class does not count in the mean (R-20)", "[losses]") {
  const auto loss = [](std::vector<double> p, std::vector<double> t) {
    const auto rows = static_cast<std::int64_t>(t.size());
    return testing::run({tensor_of({rows}, DType::int32, t), tensor_of({rows, 2}, DType::float64, p)},
                        [](auto x) { return (*losses::circle({.gamma = 1}))(x[0], x[1]); })
        .item();
  };
  // The distances of the pair are 0.04, and those to the third sample 0.4 and 0.2.
  const auto pair = [](double far) { return std::log1p(std::exp(0.44 * -0.36) * std::exp((1.4 - far) * (0.6 - far))); };
  CHECK(std::abs(loss({0.6, 0.8, 0.8, 0.6, 1, 0}, {1, 1, 2}) - (pair(0.4) + pair(0.2)) / 2) < 1e-12);
  CHECK(loss({0.6, 0.8, 1, 0}, {1, 2}) == 0);
  CHECK(testing::error_of([] { losses::circle({.gamma = -1}); }) ==
        "[circle] gamma = -1 - expected a finite number of 0 or more - set gamma.");
}

TEST_CASE("the cosine similarity of a zero vector is 0, and its gradient finite", "[losses]") {
  const Tensor zero = tensor_of({1, 2}, DType::float64, {0, 0}), other = tensor_of({1, 2}, DType::float64, {1, 2});
  const auto loss = [](Value p, Value t) { return (*losses::cosine_similarity())(t, p); };
  CHECK(sum_at(zero, other, loss) == 0);
  for (const double dp : gradient_at(zero, other, loss)) CHECK(std::isfinite(dp));
}

TEST_CASE("a target of extent 1 after the batch is compared with each prediction; the batch axis does not broadcast",
          "[losses]") {
  const Tensor p = tensor_of({2, 2}, DType::float64, {1, 3, 5, 7});
  const auto mae = [&](const Tensor& t) {
    return testing::run({t, p}, [](auto x) { return (*losses::mean_absolute_error())(x[0], x[1]); }).item();
  };
  CHECK(mae(tensor_of({2, 1}, DType::float64, {1, 5})) == 1);
  CHECK(testing::error_of([&] { mae(tensor_of({1, 2}, DType::float64, {1, 5})); }).find("[MeanAbsoluteError]") == 0);
}

TEST_CASE("losses and metrics have Keras's short names", "[losses][metrics]") {
  const auto [brief, full] = GENERATE(table<std::string, std::string>({{"mae", "mean_absolute_error"},
                                                                       {"MSE", "mean_squared_error"},
                                                                       {"mape", "mean_absolute_percentage_error"},
                                                                       {"msle", "mean_squared_logarithmic_error"},
                                                                       {"bce", "binary_crossentropy"},
                                                                       {"kld", "kl_divergence"},
                                                                       {"meanAbsoluteError", "mean_absolute_error"},
                                                                       {"kullbackLeiblerDivergence", "kl_divergence"},
                                                                       {"categoricalHinge", "categorical_hinge"}}));
  CHECK(losses::get(brief)->name() == full);
  CHECK(metrics::get(brief, {2, 2}, {2, 2})->name() == brief);
}

TEST_CASE("metrics have a direction of improvement", "[metrics]") {
  const auto direction = [](const char* name) { return metrics::get(name, {2, 2}, {2, 2})->direction; };
  for (const char* name : {"mae", "rmse", "hinge", "kld", "poisson", "log_cosh"})
    CHECK(direction(name) == Direction::down);
  for (const char* name : {"cosine_similarity", "top_k_categorical_accuracy", "sparse_top_k_categorical_accuracy"})
    CHECK(direction(name) == Direction::up);
}

TEST_CASE("top-k accuracy counts ties as hits, and 0 for a class that does not exist", "[metrics]") {
  const auto top = [](std::vector<double> scores, double label) {
    const MetricPtr metric = metrics::sparse_top_k_categorical_accuracy({.k = 2});
    const std::vector<Tensor> inputs{tensor_of({1}, DType::float32, {label}),
                                     tensor_of({1, 3}, DType::float32, scores)};
    testing::Compiled update(inputs, [&](Graph&, std::span<const Value> x) {
      metric->update_state(x[0], x[1]);
      return testing::Compiled::Outcome{};
    });
    update.run(inputs);
    return testing::run({}, [&](auto) { return metric->result(); }).item();
  };
  CHECK(top({0.5, 0.3, 0.2}, 1) == 1);
  CHECK(top({0.5, 0.3, 0.2}, 2) == 0);
  CHECK(top({0.5, 0.2, 0.2}, 2) == 1);
  CHECK(top({0.5, 0.3, 0.2}, 7) == 0);
  CHECK(top({0.5, NAN, 0.2}, 1) == 0);
  CHECK(testing::error_of([] { metrics::top_k_categorical_accuracy({.k = 0}); }) ==
        "[top_k_categorical_accuracy] k = 0 - expected 1 or more - set k.");
}

}  // namespace etude
