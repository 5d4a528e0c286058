#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "added_layers.hpp"
#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"

// Layers whose numbers tests/golden/conformance/added_layers.json compares: what those cases do not cover.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using samples::added_layers;
using samples::tensor_of_lists;
using testing::difference;
using testing::error_of;
using testing::numbers;

}  // namespace

TEST_CASE("ThresholdedReLU keeps numbers above theta, and refuses a theta below 0", "[layers][activations]") {
  const Tensor x = Tensor::from<float>({4}, {-3, 2, 2.5, 9});
  CHECK(numbers((*layers::thresholded_relu({.theta = 2}))(x)) == std::vector<double>{0, 0, 2.5, 9});
  CHECK(error_of([] { layers::thresholded_relu({.theta = -1, .name = "t"}); }) ==
        "[ThresholdedReLU \"t\"] theta = -1 - expected a number of 0 or more - set theta.");
}

TEST_CASE("ReversibleEmbedding projects vectors in reverse as Keras does", "[layers][embedding]") {
  for (const nlohmann::json& test : added_layers("reverse")) {
    const auto layer = std::dynamic_pointer_cast<ReversibleEmbedding>(
        from_json<Layer>(nlohmann::json{{"class_name", "ReversibleEmbedding"}, {"config", test.at("config")}}.dump()));
    const Tensor x = tensor_of_lists(test.at("x")), indices = Tensor::from<std::int32_t>({1, 1}, {0});
    (*layer)(indices);
    std::vector<Tensor> weights;
    for (const nlohmann::json& weight : test.at("weights")) weights.push_back(tensor_of_lists(weight));
    layer->set_weights(weights);
    const Tensor y = testing::run({x}, [&](std::span<const Value> v) { return layer->reverse(v[0]); });
    CHECK(y.dtype() == dtype_from_name(test.at("dtype").get<std::string>()));
    CHECK(difference(y, tensor_of_lists(test.at("y")), {1e-5, 1e-5}) == "");
  }
  // Keras does not cast vectors that are float32.
  const auto half = layers::reversible_embedding({.input_dim = 4, .output_dim = 3, .dtype = "mixed_bfloat16"});
  CHECK(testing::run({Tensor({1, 3})}, [&](std::span<const Value> v) { return half->reverse(v[0]); }).dtype() ==
        DType::bfloat16);
}

TEST_CASE("RandomFourierFeatures: products of features approximate the kernel of its name", "[layers]") {
  const Tensor x = Tensor::from<float>({2, 3}, {0.3F, -0.2F, 0.5F, -0.4F, 0.1F, 0.2F});
  const auto kernel_of = [&](const char* name, double scale) {
    set_random_seed(3);
    const auto layer = layers::random_fourier_features(
        {.output_dim = 20000, .kernel_initializer = name, .scale = scale, .dtype = "float64"});
    const std::vector<double> y = numbers((*layer)(x.astype(DType::float64)));
    double sum = 0;
    for (std::size_t i = 0; i < 20000; ++i) sum += 2 * y[i] * y[20000 + i];
    return sum / 20000;
  };
  // Differences 0.7, -0.3, 0.3: the sum of squares is 0.67, that of absolute values 1.3.
  CHECK_THAT(kernel_of("gaussian", 0.8), WithinAbs(std::exp(-0.67 / (2 * 0.64)), 0.02));
  CHECK_THAT(kernel_of("laplacian", 0.8), WithinAbs(std::exp(-1.3 / 0.8), 0.02));
  set_random_seed(0);
}

TEST_CASE("RandomFourierFeatures trains nothing but its scale, and only if it is trainable", "[layers]") {
  const Tensor x({2, 8});
  const auto layer = layers::random_fourier_features({.output_dim = 3});
  (*layer)(x);
  CHECK(layer->trainable_variables().empty());
  CHECK(numbers(layer->get_weights().back()) == std::vector<double>{2});  // the root of 8 / 2
  const auto trained =
      layers::random_fourier_features({.output_dim = 3, .kernel_initializer = "laplacian", .trainable = true});
  (*trained)(x);
  REQUIRE(trained->trainable_variables().size() == 1);
  CHECK(trained->trainable_variables().front().shape() == Shape{1});
  CHECK(numbers(trained->get_weights().back()) == std::vector<double>{1});
  CHECK(layer->count_params() == 8 * 3 + 3 + 1);
  const auto fixed = layers::random_fourier_features({.output_dim = 3, .kernel_initializer = initializers::ones()});
  (*fixed)(x);
  CHECK(numbers(fixed->get_weights().front()) == std::vector<double>(24, 1));
}

TEST_CASE("RandomFourierFeatures: numbers, names and shapes that do not fit are errors", "[layers][errors]") {
  CHECK_THAT(error_of([] { layers::random_fourier_features({.output_dim = 0}); }), ContainsSubstring("output_dim = 0"));
  CHECK_THAT(error_of([] { layers::random_fourier_features({.output_dim = 2, .scale = 0}); }),
             ContainsSubstring("scale = 0"));
  CHECK_THAT(error_of([] { layers::random_fourier_features({.output_dim = 2, .kernel_initializer = "ones"}); }),
             ContainsSubstring("expected \"gaussian\", \"laplacian\" or an initializer"));
  CHECK_THAT(error_of([] { (*layers::random_fourier_features({.output_dim = 2}))(Tensor({2, 3, 4})); }),
             ContainsSubstring("expected [batch, features]"));
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

TEST_CASE("ReversibleEmbedding refuses inputs that it cannot project", "[layers][embedding][errors]") {
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
  CHECK_THROWS_WITH(to_json<Layer>(*layer), ContainsSubstring("save only the model's weights"));
}

TEST_CASE("a saved model of added layers computes the same when it is loaded", "[layers][saving]") {
  const testing::FilesInMemory memory;
  const Tensor x = Tensor::from<std::int32_t>({2, 5}, {0, 1, 2, 3, 4, 4, 3, 2, 1, 0});
  const auto heads = [](const SymbolicTensor& steps) {
    return layers::grouped_query_attention(
               {.head_dim = 2, .num_query_heads = 4, .num_key_value_heads = 2, .sliding_window = 2, .use_gate = true})
        ->apply({steps, steps});
  };
  const SymbolicTensor words = layers::input({.shape = {5}, .dtype = "int32"});
  const SymbolicTensor vectors =
      layers::reversible_embedding({.input_dim = 5, .output_dim = 6, .tie_weights = false})->apply(words);
  const SymbolicTensor steps = layers::locally_connected1d({.filters = 4, .kernel_size = 2})->apply(heads(vectors));
  const SymbolicTensor normal =
      layers::batch_normalization(
          {.moving_variance_initializer = initializers::random_uniform({.minval = 1, .maxval = 2}),
           .renorm = true,
           .renorm_clipping = {{{"rmax", 3}}}})
          ->apply(steps);
  const SymbolicTensor y = layers::spectral_normalization(layers::dense({.units = 4}))->apply(normal);
  Functional model({words}, {layers::thresholded_relu({.theta = 0.1})->apply(y)});
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(x, Tensor({2, 4, 4}), {.epochs = 2, .verbose = 0});
  model.save("model");
  const ModelPtr loaded = load_model("model");
  CHECK(testing::same_bits(loaded->predict(x, {.verbose = 0}), model.predict(x, {.verbose = 0})));
  CHECK(loaded->weights().size() == model.weights().size());
}

}  // namespace etude
