#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "etude/etude.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// BatchNormalization and Embedding: layers with variables that are not only trained, or not dense.
using namespace etude;
using namespace etude::samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using testing::error_of;

namespace {

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments_of(const Tensor& x, std::int64_t column) {
  const std::int64_t columns = x.shape()[-1], rows = x.size() / columns;
  Moments m;
  for (std::int64_t i = 0; i < rows; ++i) m.mean += x.at(i * columns + column) / static_cast<double>(rows);
  for (std::int64_t i = 0; i < rows; ++i)
    m.variance += std::pow(x.at(i * columns + column) - m.mean, 2) / static_cast<double>(rows);
  return m;
}

}  // namespace

TEST_CASE("training normalises by the batch, and the moving moments follow it, biased (A-9)", "[normalization]") {
  const Tensor x = waves({6, 2, 3});
  const auto layer = std::make_shared<BatchNormalization>(BatchNormalizationOptions{.momentum = 0.75, .epsilon = 0.5});
  const Tensor y = (*layer)(x, true);
  for (std::int64_t c = 0; c < 3; ++c) {
    const Moments m = moments_of(x, c);
    for (std::int64_t i = 0; i < 12; ++i)
      CHECK_THAT(y.at(i * 3 + c), WithinAbs((x.at(i * 3 + c) - m.mean) / std::sqrt(m.variance + 0.5), 1e-5));
    CHECK_THAT(layer->get_weights()[2].at(c), WithinAbs(0.25 * m.mean, 1e-6));
    CHECK_THAT(layer->get_weights()[3].at(c), WithinAbs(0.75 + 0.25 * m.variance, 1e-6));
  }
  CHECK(layer->trainable_variables().size() == 2);
  CHECK(layer->weights().size() == 4);
}

TEST_CASE("evaluation, and a frozen layer, normalise by the moving moments and leave them (L-28)", "[normalization]") {
  const Tensor x = waves({4, 2});
  BatchNormalization layer({.epsilon = 0});
  layer(x, false);
  layer.set_weights({Tensor::from<float>({2}, {2, 3}), Tensor::from<float>({2}, {1, 0}),
                     Tensor::from<float>({2}, {1, -1}), Tensor::from<float>({2}, {4, 0.25})});
  for (const bool frozen : {false, true}) {
    layer.set_trainable(!frozen);
    const Tensor y = layer(x, frozen);
    for (std::int64_t i = 0; i < 4; ++i) {
      CHECK_THAT(y.at(2 * i), WithinAbs((x.at(2 * i) - 1) / 2 * 2 + 1, 1e-6));
      CHECK_THAT(y.at(2 * i + 1), WithinAbs((x.at(2 * i + 1) + 1) / 0.5 * 3, 1e-5));
    }
  }
  CHECK(numbers(layer.get_weights()[2]) == std::vector<double>{1, -1});
}

TEST_CASE("masked entries count in no moment", "[normalization]") {
  const Tensor x = Tensor::from<float>({1, 3, 1}, {1, 3, 1000}), mask = Tensor::from<bool>({1, 3}, {true, true, false});
  BatchNormalization layer({.momentum = 0});
  testing::run({x, mask}, [&](std::span<const Value> v) { return layer(v[0].with_mask(v[1]), true); });
  CHECK(layer.get_weights()[2].at(0) == 2);
  CHECK(layer.get_weights()[3].at(0) == 1);
}

TEST_CASE("a model with BatchNormalization learns, and updates its moments", "[normalization]") {
  const Tensor x = waves({64, 3});
  Sequential model(
      {layers::batch_normalization({.momentum = 0.5}), layers::dense({.units = 1, .activation = "sigmoid"})});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 1}), .loss = "binary_crossentropy"});
  const auto history = model.fit(x, signs_of(x), {.batch_size = 16, .epochs = 20, .verbose = 0});
  CHECK((*history)["loss"].back() < 0.5 * (*history)["loss"].front());
  const Moments all = moments_of(x, 0);
  CHECK_THAT(model.get_weights()[2].at(0), WithinAbs(all.mean, 0.1));
  CHECK_THAT(model.get_weights()[3].at(0), WithinAbs(all.variance, 0.1));
}

TEST_CASE("BatchNormalization refuses shapes and options that it does not support", "[normalization]") {
  CHECK_THAT(error_of([] { BatchNormalization({.momentum = 2}); }), ContainsSubstring("momentum = 2"));
  BatchNormalization layer;
  layer(waves({2, 3}));
  CHECK_THAT(error_of([&] { layer(waves({2, 4})); }), ContainsSubstring("[2, 4]"));
}

TEST_CASE("BatchNormalization has no weights along the batch axis, whose extent may change", "[normalization]") {
  for (const std::ptrdiff_t axis : {0, -2}) {
    BatchNormalization layer({.axis = axis});
    CHECK_THAT(error_of([&] { layer(waves({2, 3})); }), ContainsSubstring("expected an axis after the batch axis"));
    CHECK_FALSE(layer.built());
  }
}

TEST_CASE("an Embedding gives each number its vector, and trains those that occurred", "[embedding]") {
  const auto embedding = layers::embedding({.input_dim = 5, .output_dim = 2});
  Sequential model({embedding, layers::global_average_pooling1d(), layers::dense({.units = 1})});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 1}), .loss = "mse"});
  const Tensor x = Tensor::from<std::int32_t>({2, 2}, {1, 3, 3, 1}), y = filled({2, 1}, 1);
  model.build({-1, 2});
  const Tensor before = embedding->get_weights()[0].clone();
  for (std::int64_t i = 0; i < before.size(); ++i) CHECK(std::abs(before.at(i)) <= 0.05);
  const Tensor rows = (*embedding)(x);
  CHECK(rows.shape() == Shape{2, 2, 2});
  CHECK(rows.at(2) == before.at(3 * 2));
  model.fit(x, y, {.epochs = 3, .verbose = 0});
  const Tensor after = embedding->get_weights()[0];
  for (std::int64_t row = 0; row < 5; ++row) CHECK((after.at(row * 2) != before.at(row * 2)) == (row == 1 || row == 3));
}

TEST_CASE("mask_zero: the index 0 is masked for the layers that follow (A-17)", "[embedding]") {
  Embedding layer({.input_dim = 4, .output_dim = 1, .embeddings_initializer = "ones", .mask_zero = true});
  const Tensor x = Tensor::from<std::int32_t>({1, 3}, {2, 0, 1});
  const Tensor mask =
      testing::run({x}, [&](std::span<const Value> v) { return ops::cast(layer(v[0]).mask(), DType::float32); });
  CHECK(numbers(mask) == std::vector<double>{1, 0, 1});
}

TEST_CASE("an index out of the table that a step computes gives NaN, not another row", "[embedding]") {
  Embedding layer({.input_dim = 4, .output_dim = 1});
  const Tensor y = testing::run({Tensor::from<std::int32_t>({3}, {0, 4, -1})},
                                [&](std::span<const Value> ids) { return layer(ids[0]); });
  CHECK(!std::isnan(y.at(0)));
  CHECK(std::isnan(y.at(1)));
  CHECK(std::isnan(y.at(2)));
  CHECK_THAT(error_of([] { Embedding({.input_dim = 0, .output_dim = 1}); }), ContainsSubstring("input_dim = 0"));
}
