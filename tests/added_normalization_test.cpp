#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "added_layers.hpp"
#include "etude/etude.hpp"
#include "support.hpp"

// SpectralNormalization, and BatchNormalization with renorm.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using samples::added_layers;
using samples::tensor_of_lists;
using testing::difference;
using testing::error_of;
using testing::numbers;

/// Lists of weights, in the order of `layer`: for SpectralNormalization, Keras lists vector_u second.
std::vector<Tensor> weights_in(const Layer& layer, const nlohmann::json& lists) {
  std::vector<Tensor> weights = layer.get_weights();
  const bool swaps = layer.class_name() == "SpectralNormalization";
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t theirs = swaps && i < 2 ? 1 - i : i;
    weights[i] = tensor_of_lists(lists.at(theirs));
  }
  return weights;
}

void check_weights(const Layer& layer, const nlohmann::json& lists) {
  const std::vector<Tensor> got = layer.get_weights(), want = weights_in(layer, lists);
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(difference(got[i], want[i], {1e-5, 1e-5}) == "");
}

/// Makes a layer with the weights of a case, and compares the results and the weights of its calls.
LayerPtr check_calls(const char* class_name, const nlohmann::json& test) {
  const LayerPtr layer =
      from_json<Layer>(nlohmann::json{{"class_name", class_name}, {"config", test.at("config")}}.dump());
  const Tensor x = tensor_of_lists(test.at("x"));
  (*layer)(x);
  layer->set_weights(weights_in(*layer, test.at("weights")));
  for (const nlohmann::json& call : test.at("calls")) {
    CHECK(difference((*layer)(x, call.at("training").get<bool>()), tensor_of_lists(call.at("y")), {1e-5, 1e-5}) == "");
    check_weights(*layer, call.at("weights"));
  }
  return layer;
}

/// Trains a layer by SGD with the weights, the data and the steps of a case, and compares losses and weights.
void check_fit(const LayerPtr& layer, const nlohmann::json& test) {
  Sequential model({layer});
  const Tensor x = tensor_of_lists(test.at("x")), y = tensor_of_lists(test.at("y"));
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.1}), .loss = "mse"});
  model.predict(x, {.verbose = 0});
  layer->set_weights(weights_in(*layer, test.at("weights")));
  const auto history = model.fit(x, y, {.batch_size = x.shape()[0], .epochs = 2, .verbose = 0, .shuffle = false});
  CHECK(difference((*history)["loss"], testing::numbers_in(test.at("losses")), {1e-5, 1e-5}) == "");
  check_weights(*layer, test.at("fitted"));
}

}  // namespace

TEST_CASE("SpectralNormalization divides a kernel by its spectral norm in training, as Keras does",
          "[layers][normalization]") {
  for (const nlohmann::json& test : added_layers("spectral_normalization")) {
    const LayerPtr layer = check_calls("SpectralNormalization", test);
    CHECK(layer->trainable_variables().size() + 1 == layer->weights().size());
  }
}

TEST_CASE("fit trains a SpectralNormalization to the weights of Keras", "[layers][normalization]") {
  check_fit(layers::spectral_normalization(layers::dense({.units = 2})), added_layers("spectral_normalization_fit"));
}

TEST_CASE("a SpectralNormalization that a step calls twice is normalized once, and both calls count",
          "[layers][normalization]") {
  const auto layer = std::make_shared<SpectralNormalization>(layers::dense({.units = 2, .use_bias = false}));
  const Tensor a = Tensor::from<float>({1, 2}, {1, -2}), b = Tensor::from<float>({1, 2}, {3, 0.5});
  (*layer)(a);
  const std::vector<Tensor> start{Tensor::from<float>({1, 2}, {0.6F, 0.8F}), Tensor::from<float>({2, 2}, {3, 0, 0, 1})};
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

TEST_CASE("BatchNormalization with renorm has the results and the weights of Keras", "[layers][normalization]") {
  for (const nlohmann::json& test : added_layers("renormalization")) {
    const LayerPtr layer = check_calls("BatchNormalization", test);
    std::vector<std::string> names;
    for (const Variable& weight : layer->weights()) names.push_back(weight.name().substr(layer->name().size() + 1));
    CHECK(names == test.at("names").get<std::vector<std::string>>());
  }
  check_fit(layers::batch_normalization({.momentum = 0.5, .renorm = true, .renorm_momentum = 0.5}),
            added_layers("renormalization_fit"));
}

TEST_CASE("the standard deviations of renorm begin at the roots of the variances", "[layers][normalization]") {
  const auto layer = layers::batch_normalization(
      {.moving_variance_initializer = initializers::constant({.value = 9}), .renorm = true});
  (*layer)(Tensor({2, 1}));
  CHECK(layer->weights().size() == 7);
  CHECK(layer->trainable_variables().size() == 2);
  CHECK(numbers(layer->get_weights()[4]) == std::vector<double>{3});  // moving_stddev
  CHECK(numbers(layer->get_weights()[6]) == std::vector<double>{3});  // renorm_stddev
}

TEST_CASE("BatchNormalization refuses limits of renorm that exclude each other", "[layers][normalization][errors]") {
  const auto refused = [](std::map<std::string, double> clipping) {
    return error_of(
        [&] { layers::batch_normalization({.renorm = true, .renorm_clipping = std::move(clipping), .name = "b"}); });
  };
  CHECK(refused({{"rmean", 1}}) ==
        "[BatchNormalization \"b\"] renorm_clipping of \"rmean\" - expected \"rmax\", \"rmin\" and \"dmax\" - leave it "
        "out.");
  CHECK(refused({{"rmin", 2}, {"rmax", 1}}).find("rmin = 2, rmax = 1, dmax = 0 - expected") != std::string::npos);
  CHECK(refused({{"dmax", -1}}).find("dmax = -1 - expected") != std::string::npos);
  CHECK(refused({{"rmin", 2}}) == "no error");
  CHECK_THROWS_WITH(layers::batch_normalization({.renorm_momentum = 2}),
                    ContainsSubstring("renorm_momentum = 2 - expected a number from 0 to 1"));
}

}  // namespace etude
