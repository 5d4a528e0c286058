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

/// Lists of weights, in the order of `layer`: for SpectralNormalization, Keras lists vector_u second.
std::vector<Tensor> weights_in(const Layer& layer, const nlohmann::json& lists) {
  std::vector<Tensor> weights = layer.get_weights();
  const bool swaps = layer.class_name() == "SpectralNormalization";
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::size_t theirs = swaps && i < 2 ? 1 - i : i;
    weights[i] = tensor_like(weights[i], lists.at(theirs));
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
  const Tensor x = tensor_of(test.at("x"));
  (*layer)(x);
  layer->set_weights(weights_in(*layer, test.at("weights")));
  for (const nlohmann::json& call : test.at("calls")) {
    CHECK(difference((*layer)(x, call.at("training").get<bool>()), tensor_of(call.at("y")), {1e-5, 1e-5}) == "");
    check_weights(*layer, call.at("weights"));
  }
  return layer;
}

/// Trains a layer by SGD with the weights, the data and the steps of a case, and compares losses and weights.
void check_fit(const LayerPtr& layer, const nlohmann::json& test) {
  Sequential model({layer});
  const Tensor x = tensor_of(test.at("x")), y = tensor_of(test.at("y"));
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.1}), .loss = "mse"});
  model.predict(x, {.verbose = 0});
  layer->set_weights(weights_in(*layer, test.at("weights")));
  const auto history = model.fit(x, y, {.batch_size = x.shape()[0], .epochs = 2, .verbose = 0, .shuffle = false});
  CHECK(difference((*history)["loss"], testing::numbers_in(test.at("losses")), {1e-5, 1e-5}) == "");
  check_weights(*layer, test.at("fitted"));
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
    const LayerPtr layer = check_calls("SpectralNormalization", test);
    CHECK(layer->trainable_variables().size() + 1 == layer->weights().size());
  }
}

TEST_CASE("fit trains a SpectralNormalization to the weights of Keras", "[layers][normalization]") {
  check_fit(layers::spectral_normalization(layers::dense({.units = 2})), keras("spectral_normalization_fit"));
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

TEST_CASE("ReversibleEmbedding projects vectors in reverse as Keras does", "[layers][embedding]") {
  for (const nlohmann::json& test : keras("reverse")) {
    const auto layer = std::dynamic_pointer_cast<ReversibleEmbedding>(
        from_json<Layer>(nlohmann::json{{"class_name", "ReversibleEmbedding"}, {"config", test.at("config")}}.dump()));
    const Tensor x = tensor_of(test.at("x")), indices = Tensor::from<std::int32_t>({1, 1}, {0});
    (*layer)(indices);
    std::vector<Tensor> weights;
    for (const nlohmann::json& weight : test.at("weights")) weights.push_back(tensor_of(weight));
    layer->set_weights(weights);
    const Tensor y = testing::run({x}, [&](std::span<const Value> v) { return layer->reverse(v[0]); });
    CHECK(y.dtype() == dtype_from_name(test.at("dtype").get<std::string>()));
    CHECK(difference(y, tensor_of(test.at("y")), {1e-5, 1e-5}) == "");
  }
  // Keras does not cast vectors that are float32.
  const auto half = layers::reversible_embedding({.input_dim = 4, .output_dim = 3, .dtype = "mixed_bfloat16"});
  CHECK(testing::run({Tensor({1, 3})}, [&](std::span<const Value> v) { return half->reverse(v[0]); }).dtype() ==
        DType::bfloat16);
}

TEST_CASE("tied weights get the gradients of both directions", "[layers][embedding]") {
  const auto layer = layers::reversible_embedding({.input_dim = 2, .output_dim = 2});
  const Tensor x = Tensor::from<std::int32_t>({1, 1}, {1});
  const auto logits = [&](Value indices) { return layer->reverse((*layer)(indices)); };
  testing::run({x}, [&](std::span<const Value> v) { return logits(v[0]); });  // builds it
  layer->set_weights({Tensor::from<float>({2, 2}, {1, 2, 3, 4})});
  // The sum of e[1] · e[0] and e[1] · e[1].
  const Tensor d = testing::run(
      {x}, [&](std::span<const Value> v) { return gradients(ops::sum(logits(v[0])), layer->variables()).front(); });
  CHECK(numbers(d) == std::vector<double>{3, 4, 7, 10});
  CHECK(layer->weights().size() == 1);
}

TEST_CASE("a model of tied embeddings learns to name its words", "[layers][embedding]") {
  class Language : public Model {
   public:
    Language() : Model({.name = "language"}) {}
    Value call(Value x, bool) override { return words->reverse((*words)(x)); }
    std::vector<LayerPtr> layers() const override { return {words}; }
    std::shared_ptr<ReversibleEmbedding> words =
        layers::reversible_embedding({.input_dim = 4, .output_dim = 6, .logit_soft_cap = 20});
  };
  Language model;
  model.compile({.optimizer = optimizers::adam({.learning_rate = 0.1}),
                 .loss = losses::sparse_categorical_crossentropy({.from_logits = true})});
  const Tensor x = Tensor::from<std::int32_t>({4, 1}, {0, 1, 2, 3});
  const auto history = model.fit(x, x, {.epochs = 30, .verbose = 0});
  CHECK((*history)["loss"].back() < 0.5 * (*history)["loss"].front());
}

TEST_CASE("ReversibleEmbedding refuses what it cannot project", "[layers][embedding][errors]") {
  const auto made = [](ReversibleEmbeddingOptions options) {
    options.input_dim = options.output_dim = 2;
    options.name = "words";
    return layers::reversible_embedding(options);
  };
  CHECK(error_of([&] { made({.logit_soft_cap = 0}); }) ==
        "[ReversibleEmbedding \"words\"] logit_soft_cap = 0 - expected a positive number - set logit_soft_cap.");
  CHECK(error_of([&] { made({.reverse_dtype = "int32"}); }) ==
        "[ReversibleEmbedding \"words\"] reverse_dtype = int32 - expected a float - set reverse_dtype.");
  const auto layer = made({});
  CHECK_THROWS_WITH(testing::run({Tensor({3, 3})}, [&](std::span<const Value> v) { return layer->reverse(v[0]); }),
                    ContainsSubstring("reverse of shape [3, 3] - expected vectors [batch, .., 2]"));
}

TEST_CASE("LocallyConnected layers have a kernel and a bias for each position, of Keras's shapes",
          "[layers][convolution]") {
  const auto layer = layers::locally_connected2d({.filters = 5, .kernel_size = {2, 3}, .strides = {2, 1}});
  CHECK((*layer)(Tensor({1, 5, 4, 3})).shape() == Shape{1, 2, 2, 5});
  CHECK(layer->weights()[0].shape() == Shape{4, 18, 5});
  CHECK(layer->weights()[1].shape() == Shape{2, 2, 5});
  const auto steps = layers::locally_connected1d({.filters = 2, .kernel_size = 3});
  (*steps)(Tensor({1, 5, 4}));
  CHECK(steps->weights()[0].shape() == Shape{3, 12, 2});
  CHECK(steps->weights()[1].shape() == Shape{3, 2});
}

TEST_CASE("a LocallyConnected layer whose kernels are equal is a convolution", "[layers][convolution]") {
  const testing::FloatX wide(DType::float64);
  Random random = testing::draws(4);
  const Tensor x = testing::random_tensor(random, {2, 6, 5, 3});
  const auto local = layers::locally_connected2d({.filters = 2, .kernel_size = {3, 2}, .strides = {1, 2}});
  const auto shared = layers::conv2d({.filters = 2, .kernel_size = {3, 2}, .strides = {1, 2}});
  (*local)(x);
  const Tensor y = (*shared)(x);
  const Tensor kernel = shared->get_weights()[0].reshape({1, 18, 2});
  const Tensor repeated =
      testing::run({kernel}, [](std::span<const Value> v) { return ops::broadcast_to(v[0], {8, 18, 2}); });
  local->set_weights({repeated, Tensor({4, 2, 2}, DType::float64)});
  CHECK(difference((*local)(x), y, {1e-12, 0}) == "");
}

TEST_CASE("LocallyConnected layers refuse padding, and extents that they were not built for",
          "[layers][convolution][errors]") {
  CHECK(
      error_of([] { layers::locally_connected1d({.filters = 2, .kernel_size = 3, .padding = "same", .name = "l"}); }) ==
      "[LocallyConnected1D \"l\"] padding = \"same\" - expected \"valid\" - pad the data by a ZeroPadding layer.");
  const auto layer = layers::locally_connected2d({.filters = 2, .kernel_size = 2, .name = "m"});
  CHECK_THROWS_WITH((*layer)(Tensor({1, 4, 1, 3})), ContainsSubstring("a window of 2 x 2 for an input of 4 x 1"));
  CHECK_FALSE(layer->built());
  (*layer)(Tensor({1, 4, 5, 3}));
  CHECK(
      error_of([&] { (*layer)(Tensor({1, 5, 4, 3})); }) ==
      "[LocallyConnected2D \"m\"] input of extents [5, 4] - expected [4, 5], for which it was built: each position has "
      "a kernel - build a new layer or check the data.");
}

TEST_CASE("BatchNormalization with renorm has the results and the weights of Keras", "[layers][normalization]") {
  for (const nlohmann::json& test : keras("renormalization")) {
    const LayerPtr layer = check_calls("BatchNormalization", test);
    std::vector<std::string> names;
    for (const Variable& weight : layer->weights()) names.push_back(weight.name().substr(layer->name().size() + 1));
    CHECK(names == test.at("names").get<std::vector<std::string>>());
  }
  check_fit(layers::batch_normalization({.momentum = 0.5, .renorm = true, .renorm_momentum = 0.5}),
            keras("renormalization_fit"));
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

TEST_CASE("Lambda is a layer of a function, of one input or of several", "[layers][lambda]") {
  const Tensor x = Tensor::from<float>({1, 2}, {3, -4}), y = Tensor::from<float>({1, 2}, {1, 2});
  CHECK(numbers((*layers::lambda([](Value v) { return ops::square(v); }))(x)) == std::vector<double>{9, 16});
  const auto both = layers::lambda([](const std::vector<Value>& v) { return Outputs{v[0] + v[1], v[0] - v[1]}; });
  const std::vector<Tensor> outputs = both->call_all({x, y});
  CHECK(numbers(outputs[0]) == std::vector<double>{4, -2});
  CHECK(numbers(outputs[1]) == std::vector<double>{2, -6});

  const SymbolicTensor input = layers::input({.shape = {2}});
  const SymbolicTensor twice = layers::lambda([](Value v) { return v * 2; }, {.name = "twice"})->apply(input);
  Functional model({input}, {layers::dense({.units = 1, .kernel_initializer = "ones"})->apply(twice)});
  CHECK(numbers(model.predict(x, {.verbose = 0})) == std::vector<double>{-2});
}

TEST_CASE("Lambda trains the variables that its function reads, and drops masks that it does not set",
          "[layers][lambda]") {
  Variable scale("scale", Tensor::from<float>({}, {1}));
  Sequential model({layers::lambda([scale](Value v) { return v * Graph::current().read(scale); })});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.5}), .loss = "mse"});
  const Tensor x = Tensor::from<float>({2, 1}, {1, 1}), y = Tensor::from<float>({2, 1}, {3, 3});
  model.fit(x, y, {.epochs = 1, .verbose = 0});
  CHECK(model.trainable_variables().size() == 1);
  CHECK(scale.value().item() == 3);

  const Tensor mask({2, 3}, DType::boolean);
  testing::run({Tensor({2, 3, 1}), mask}, [](std::span<const Value> v) {
    const Value masked = v[0].with_mask(v[1]);
    CHECK_FALSE((*layers::lambda([](Value each) { return each + 1; }))(masked).mask());
    CHECK((*layers::lambda([](Value each) { return (each + 1).with_mask(each.mask()); }))(masked).mask() == v[1]);
    return masked;
  });
}

TEST_CASE("Lambda refuses a missing function, and to be written as a config", "[layers][lambda][errors]") {
  CHECK(error_of([] { layers::lambda(Lambda::Function(), {.name = "l"}); }) ==
        "[Lambda \"l\"] no function - expected a function of a Value - pass one.");
  const auto layer = layers::lambda([](Value v) { return v; });
  CHECK_THROWS_WITH((*layer)({Tensor({1, 2}), Tensor({1, 2})}), ContainsSubstring("called on 2 inputs"));
  CHECK_THROWS_WITH(to_json<Layer>(*layer),
                    ContainsSubstring("save the model's weights instead, and create the model in code"));
}

}  // namespace etude
