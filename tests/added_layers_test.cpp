#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "golden.hpp"
#include "support.hpp"

// Layers whose numbers tests/golden/conformance/added_layers.json compares: what those cases do not cover.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::difference;
using testing::error_of;
using testing::numbers;

/// The cases of that name in tests/golden/added_layers.json.
const nlohmann::json& keras(const char* name) {
  static const nlohmann::json all = testing::golden("added_layers.json");
  return all.at("cases").at(name);
}

/// Nested lists of the extents of `like`.
Tensor tensor_like(const Tensor& like, const nlohmann::json& lists) {
  return testing::tensor_of(like.shape(), like.dtype(), testing::numbers_in(lists));
}

/// Nested lists as a float32 tensor.
Tensor tensor_of(const nlohmann::json& lists) {
  Shape shape;
  for (const nlohmann::json* level = &lists; level->is_array(); level = &level->front())
    shape.append(static_cast<std::int64_t>(level->size()));
  return testing::tensor_of(shape, DType::float32, testing::numbers_in(lists));
}

/// Lists of the weights of a wrapped layer, in the order of `layer`: Keras lists vector_u second.
std::vector<Tensor> weights_in(const Layer& layer, const nlohmann::json& lists) {
  std::vector<Tensor> weights = layer.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t theirs = i < 2 ? 1 - i : i;
    weights[i] = tensor_like(weights[i], lists.at(theirs));
  }
  return weights;
}

void check_weights(const Layer& layer, const nlohmann::json& lists) {
  const std::vector<Tensor> got = layer.get_weights(), want = weights_in(layer, lists);
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(difference(got[i], want[i], {1e-5, 1e-5}) == "");
}

}  // namespace

TEST_CASE("ThresholdedReLU keeps what is above theta, and refuses a theta below 0", "[layers][activations]") {
  const Tensor x = Tensor::from<float>({4}, {-3, 2, 2.5, 9});
  CHECK(numbers((*layers::thresholded_relu({.theta = 2}))(x)) == std::vector<double>{0, 0, 2.5, 9});
  CHECK(error_of([] { layers::thresholded_relu({.theta = -1, .name = "t"}); }) ==
        "[ThresholdedReLU \"t\"] theta = -1 - expected a number of 0 or more - set theta.");
}

TEST_CASE("SpectralNormalization divides a kernel by its spectral norm in training, as Keras does",
          "[layers][normalization]") {
  for (const nlohmann::json& test : keras("spectral_normalization")) {
    const LayerPtr layer =
        from_json<Layer>(nlohmann::json{{"class_name", "SpectralNormalization"}, {"config", test.at("config")}}.dump());
    const Tensor x = tensor_of(test.at("x"));
    (*layer)(x);
    CHECK(layer->trainable_variables().size() + 1 == layer->weights().size());
    layer->set_weights(weights_in(*layer, test.at("weights")));
    for (const nlohmann::json& call : test.at("calls")) {
      CHECK(difference((*layer)(x, call.at("training").get<bool>()), tensor_of(call.at("y")), {1e-5, 1e-5}) == "");
      check_weights(*layer, call.at("weights"));
    }
  }
}

TEST_CASE("fit trains a SpectralNormalization to the weights of Keras", "[layers][normalization]") {
  const nlohmann::json& test = keras("spectral_normalization_fit");
  const auto layer = layers::spectral_normalization(layers::dense({.units = 2}));
  Sequential model({layer});
  const Tensor x = tensor_of(test.at("x")), y = tensor_of(test.at("y"));
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.1}), .loss = "mse"});
  model.predict(x, {.verbose = 0});
  layer->set_weights(weights_in(*layer, test.at("weights")));
  const auto history = model.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false});
  CHECK(difference((*history)["loss"], testing::numbers_in(test.at("losses")), {1e-5, 1e-5}) == "");
  check_weights(*layer, test.at("fitted"));
}

TEST_CASE("a SpectralNormalization that a step calls twice is normalized once, and both calls count",
          "[layers][normalization]") {
  const auto layer = std::make_shared<SpectralNormalization>(layers::dense({.units = 2, .use_bias = false}));
  const Tensor a = Tensor::from<float>({1, 2}, {1, -2}), b = Tensor::from<float>({1, 2}, {3, 0.5});
  (*layer)(a);
  const std::vector<Tensor> start{Tensor::from<float>({1, 2}, {0.6, 0.8}), Tensor::from<float>({2, 2}, {3, 0, 0, 1})};
  layer->set_weights(start);
  testing::Compiled step(std::vector{a, b}, [&](Graph&, std::span<const Value> x) {
    const Value sum = ops::sum((*layer)(x[0], true)) + ops::sum((*layer)(x[1], true));
    return testing::Compiled::Outcome{gradients(sum, layer->trainable_variables()), {}};
  });
  step.run({a, b});
  CHECK(numbers(step.plan().result(0)) == std::vector<double>{4, 4, -1.5, -1.5});
  const std::vector<Tensor> once = layer->get_weights();
  layer->set_weights(start);
  (*layer)(a, true);
  CHECK(difference(layer->get_weights()[0], once[0], {1e-6, 0}) == "");
  CHECK(difference(layer->get_weights()[1], once[1], {1e-6, 0}) == "");
}

TEST_CASE("SpectralNormalization keeps a kernel of zeros, and the mask of its layer", "[layers][normalization]") {
  const auto zeros = layers::spectral_normalization(layers::dense({.units = 2, .kernel_initializer = "zeros"}));
  const Tensor x = Tensor::from<float>({1, 2}, {1, 2});
  (*zeros)(x);
  const std::vector<Tensor> before = zeros->get_weights();
  CHECK(numbers((*zeros)(x, true)) == std::vector<double>{0, 0});
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(testing::same_bits(zeros->get_weights()[i], before[i]));

  const auto masked =
      layers::spectral_normalization(layers::embedding({.input_dim = 3, .output_dim = 2, .mask_zero = true}));
  const Tensor mask = testing::run({Tensor::from<std::int32_t>({1, 3}, {2, 0, 1})},
                                   [&](std::span<const Value> v) { return (*masked)(v[0], true).mask(); });
  CHECK(numbers(mask) == std::vector<double>{1, 0, 1});
}

TEST_CASE("SpectralNormalization refuses a layer without a kernel, and keeps nothing of the failed build",
          "[layers][normalization][errors]") {
  CHECK(error_of([] { layers::spectral_normalization({.name = "s"}); }) ==
        "[SpectralNormalization \"s\"] no layer - expected a layer with a kernel - set layer.");
  CHECK_THROWS_WITH(layers::spectral_normalization({.layer = layers::dense({.units = 2}), .power_iterations = 0}),
                    ContainsSubstring("power_iterations = 0 - expected 1 to 100"));
  const LayerPtr inner = layers::batch_normalization(), layer = layers::spectral_normalization(inner);
  CHECK_THROWS_WITH((*layer)(Tensor({2, 3})),
                    ContainsSubstring("layer = BatchNormalization, which has neither a kernel nor embeddings"));
  CHECK_FALSE(inner->built());
  CHECK(inner->weights().empty());
}

}  // namespace etude
