// Models whose inputs have unknown extents besides the batch, as Keras's Input((None, None, 3)).
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "etude/layers/symbolic_ops.hpp"
#include "support.hpp"
#include "training_samples.hpp"

using namespace etude;
using namespace etude::samples;
using Catch::Matchers::ContainsSubstring;
using testing::error_of;
using testing::same_bits;

namespace {

constexpr PredictOptions silent{.verbose = 0};

/// Images [height, width, 3] -> two numbers.
std::shared_ptr<Functional> convolutional(std::int64_t height, std::int64_t width) {
  set_random_seed(1);
  const SymbolicTensor x = layers::input({.shape = {height, width, 3}});
  SymbolicTensor y = layers::conv2d({.filters = 4, .kernel_size = 3, .strides = 2, .padding = "same"})->apply(x);
  y = layers::batch_normalization()->apply(y);
  y = layers::relu()->apply(layers::max_pooling2d()->apply(layers::conv2d({.filters = 3, .kernel_size = 2})->apply(y)));
  y = layers::dense({.units = 2})->apply(layers::global_average_pooling2d()->apply(y));
  return std::make_shared<Functional>(std::vector{x}, std::vector{y});
}

/// Halves images five times and doubles them again, with connections between images of one size.
std::shared_ptr<Functional> u_net(std::int64_t height, std::int64_t width) {
  set_random_seed(2);
  const SymbolicTensor x = layers::input({.shape = {height, width, 1}});
  SymbolicTensor y = x;
  std::vector<SymbolicTensor> before;
  for (int level = 0; level < 5; ++level) {
    before.push_back(layers::conv2d({.filters = 2, .kernel_size = 3, .padding = "same"})->apply(y));
    y = layers::max_pooling2d()->apply(before.back());
  }
  for (int level = 5; level-- > 0;) {
    y = level % 2 ? layers::up_sampling2d()->apply(y)
                  : layers::conv2d_transpose({.filters = 2, .kernel_size = 2, .strides = 2})->apply(y);
    y = layers::concatenate()->apply({y, before[static_cast<std::size_t>(level)]});
  }
  return std::make_shared<Functional>(std::vector{x}, std::vector{y});
}

std::vector<LayerPtr> of_words() {
  return {layers::embedding({.input_dim = 7, .output_dim = 3, .mask_zero = true}),
          layers::bidirectional({.layer = layers::lstm({.units = 2, .return_sequences = true})}),
          layers::gru({.units = 3}), layers::dense({.units = 1})};
}

/// The same layers, in a model without a description.
class OfWords : public Model {
 public:
  Value call(Value x, bool training) override {
    for (const LayerPtr& layer : layers_) x = (*layer)(x, training);
    return x;
  }
  std::vector<LayerPtr> layers() const override { return layers_; }

 private:
  std::vector<LayerPtr> layers_ = of_words();
};

/// Two sentences, the last word of which is padding, and their targets.
Batch two_sentences(std::int64_t length) {
  Tensor words({2, length}, DType::int32);
  for (std::int64_t i = 0; i < 2 * length - 1; ++i)
    words.data<std::int32_t>()[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(1 + i * i % 6);
  return {{words}, {waves({2, 1}, static_cast<double>(length))}, {}};
}
BatchGenerator sentences() {
  for (std::int64_t length = 3; length < 6; ++length) co_yield two_sentences(length);
}

/// Two rows of ones, of 3 steps, and then of 4 steps.
Batch two_rows(std::int64_t steps) { return {{filled({2, steps, 1}, 1)}, {}, {}}; }
BatchGenerator rows() {
  for (std::int64_t steps = 3; steps < 5; ++steps) co_yield two_rows(steps);
}

/// Attention of each step over the steps before it.
class CausalAttention : public Layer {
 public:
  CausalAttention() : Layer("CausalAttention") {}
  Value call(Value x, bool training) override {
    return attention_->attend({.query = x, .value = x, .use_causal_mask = true, .training = training}).output;
  }
  std::vector<LayerPtr> layers() const override { return {attention_}; }

 private:
  std::shared_ptr<MultiHeadAttention> attention_ = layers::multi_head_attention({.num_heads = 2, .key_dim = 2});
};

std::shared_ptr<Functional> transformer(std::int64_t length) {
  set_random_seed(3);
  const SymbolicTensor x = layers::input({.shape = {length, 4}});
  SymbolicTensor y = layers::layer_normalization()->apply(x + std::make_shared<CausalAttention>()->apply(x));
  y = y + layers::dense({.units = 4, .activation = "gelu"})->apply(y);
  return std::make_shared<Functional>(std::vector{x}, std::vector{y});
}

}  // namespace

TEST_CASE("a convolutional model of unknown extents computes what models of each size compute", "[unknown_extents]") {
  const auto model = convolutional(-1, -1);
  for (const auto& [height, width] : {std::pair{12, 12}, {15, 30}}) {
    const Tensor images = waves({2, height, width, 3});
    CHECK(same_bits(model->predict(images, silent), convolutional(height, width)->predict(images, silent)));
  }
}

TEST_CASE("tensors that are made from one unknown extent fit each other", "[unknown_extents]") {
  const auto model = u_net(-1, -1);
  CHECK(model->outputs().front().shape() == Shape{-1, -1, -1, 4});
  const Tensor images = waves({1, 32, 64, 1});
  CHECK(same_bits(model->predict(images, silent), u_net(32, 64)->predict(images, silent)));
  CHECK_THAT(error_of([&] { model->predict(waves({1, 33, 32, 1}), silent); }), ContainsSubstring("Concatenate"));
}

TEST_CASE("a transformer with causal attention accepts sequences of any length", "[unknown_extents]") {
  const auto model = transformer(-1);
  for (const std::int64_t length : {1, 6}) {
    const Tensor x = waves({2, length, 4});
    CHECK(same_bits(model->predict(x, silent), transformer(length)->predict(x, silent)));
  }
}

TEST_CASE("batches of different lengths train a model as they train one that is built in call()", "[unknown_extents]") {
  set_random_seed(4);
  std::vector<LayerPtr> all = of_words();
  all.insert(all.begin(), layers::input_layer({.shape = {-1}, .dtype = "int32"}));
  Sequential model(all);
  set_random_seed(4);
  OfWords other;
  for (Model* each : {static_cast<Model*>(&model), static_cast<Model*>(&other)}) each->compile(mse());
  for (int epoch = 0; epoch < 2; ++epoch) {
    const FitOptions options{.verbose = 0, .shuffle = false};
    CHECK((*model.fit(sentences(), options))["loss"] == (*other.fit(sentences(), options))["loss"]);
  }
  const std::vector<Tensor> weights = model.get_weights(), others = other.get_weights();
  REQUIRE(weights.size() == others.size());
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(same_bits(weights[i], others[i]));
}

TEST_CASE("an unknown extent fits every other extent, until the data is known", "[unknown_extents]") {
  const auto images = [](std::int64_t extent) { return layers::input({.shape = {extent, extent, 2}}); };
  const auto joined = [](const SymbolicTensor& a, const SymbolicTensor& b) {
    return Functional({a, b}, {layers::concatenate()->apply({layers::up_sampling2d()->apply(a), b})});
  };
  Functional twice = joined(images(-1), images(-1));
  CHECK(twice.outputs().front().shape() == Shape{-1, -1, -1, 4});
  const auto predict = [&](std::int64_t extent) {
    return twice.predict(Batch{{waves({1, 2, 2, 2}), waves({1, extent, extent, 2})}, {}, {}}, silent);
  };
  CHECK(predict(4).shape() == Shape{1, 4, 4, 4});
  CHECK_THAT(error_of([&] { predict(2); }), ContainsSubstring("[1, 4, 4, 2]"));
  CHECK(joined(images(-1), images(6)).outputs().front().shape() == Shape{-1, 6, 6, 4});
}

TEST_CASE("ops of unknown extents have results of unknown extents", "[unknown_extents]") {
  const SymbolicTensor x = layers::input({.shape = {-1, 4}});
  const SymbolicTensor products = ops::matmul(x, ops::transpose(x, {0, 2, 1}));
  CHECK(products.shape() == Shape{-1, -1, -1});
  CHECK(ops::mean(x, {1}).shape() == Shape{-1, 4});
  CHECK(ops::slice(x, 1, 0, 5).shape() == Shape{-1, 5, 4});
  CHECK(Functional({x}, {products}).predict(waves({2, 3, 4}), silent).shape() == Shape{2, 3, 3});
  const SymbolicTensor swapped = ops::transpose(x, {1, 0, 2});  // [steps, batch, 4]
  CHECK_THAT(error_of([&] { Functional({x}, {swapped}); }), ContainsSubstring("give it the batch axis by an op"));
  CHECK_THAT(error_of([&] { layers::dense({.units = 1})->apply(swapped); }),
             ContainsSubstring("with the batch in the first axis alone"));
}

TEST_CASE("a layer refuses unknown extents on which the shape of its variable depends, and creates none",
          "[unknown_extents]") {
  const SymbolicTensor images = layers::input({.shape = {-1, -1, 64}});
  const LayerPtr dense = layers::dense({.units = 1000, .name = "top"});
  CHECK_THAT(
      error_of([&] { dense->apply(layers::flatten()->apply(images)); }),
      ContainsSubstring("[Dense \"top\"]") && ContainsSubstring("its variable \"top/kernel\" of shape [-1, 1000]"));
  CHECK(!dense->built());
  CHECK(dense->variables().empty());
  CHECK(dense->apply(layers::global_average_pooling2d()->apply(images)).shape() == Shape{-1, 1000});
  CHECK_THAT(error_of([&] { layers::reshape({.target_shape = {7, 64}})->apply(images); }),
             ContainsSubstring("[-1, -1, -1, 64], with 3840 and 7680 for unknown extents: [Reshape"));
  CHECK_THAT(error_of([] { layers::input({.shape = {-2}}); }), ContainsSubstring("or -1 for unknown ones"));
}

TEST_CASE("data has the rank and the known extents of an input", "[unknown_extents]") {
  const auto model = convolutional(-1, -1);
  for (const Shape& shape : {Shape{2, 12, 12, 4}, Shape{2, 12, 12}, Shape{2, 1, 12, 12, 3}})
    CHECK_THAT(error_of([&] { model->predict(waves(shape), silent); }),
               ContainsSubstring("expected [-1, -1, -1, 3], where -1 is any extent"));
}

TEST_CASE("predictions of different shapes are refused, and those of one shape are joined", "[unknown_extents]") {
  const SymbolicTensor x = layers::input({.shape = {-1, 1}});
  Functional steps({x}, {layers::relu()->apply(x)}), sums({x}, {layers::global_max_pooling1d()->apply(x)});
  CHECK(numbers(sums.predict(rows(), silent)) == std::vector<double>{1, 1, 1, 1});
  CHECK_THAT(error_of([&] { steps.predict(rows(), silent); }), ContainsSubstring("outputs of shape [2, 4, 1]"));
}

TEST_CASE("unknown extents are None in summary() and null in the description", "[unknown_extents]") {
  const auto inner = std::make_shared<Sequential>(
      std::vector<LayerPtr>{layers::conv2d({.filters = 2, .kernel_size = 3}), layers::average_pooling2d()});
  const SymbolicTensor x = layers::input({.shape = {-1, -1, 3}});
  const Functional model({x}, {inner->apply(x)});
  std::string text;
  model.summary({.print_fn = [&](std::string_view part) { text += part; }, .expand_nested = true});
  CHECK_THAT(text, ContainsSubstring("(None, None, None, 3)") && ContainsSubstring("(None, None, None, 2)") &&
                       !ContainsSubstring("3840") && !ContainsSubstring("3838"));
  const std::string json = to_json<Layer>(model);
  CHECK_THAT(json, ContainsSubstring("\"batch_shape\":[null,null,null,3]") &&
                       ContainsSubstring("\"build_input_shape\":[null,null,null,3]") && !ContainsSubstring("3840"));
  for (const ModelPtr& copy : {model_from_json(json), clone_model(model)}) {
    CHECK(copy->built());
    CHECK(copy->outputs().front().shape() == Shape{-1, -1, -1, 2});
    CHECK(to_json<Layer>(*copy) == json);
  }
}

TEST_CASE("build() accepts unknown extents, besides a known batch, too", "[unknown_extents]") {
  Sequential model({layers::lstm({.units = 2, .stateful = true})});
  model.build({4, -1, 3});
  CHECK_THAT(to_json<Layer>(model), ContainsSubstring("\"build_input_shape\":[4,null,3]"));
  for (const std::int64_t length : {2, 5})
    CHECK(model.predict(waves({4, length, 3}), {.batch_size = 4, .verbose = 0}).shape() == Shape{4, 2});
  Sequential dense({layers::dense({.units = 2})});
  CHECK_THAT(error_of([&] { dense.build({-1, -1}); }), ContainsSubstring("/kernel\" of shape [-1, 2]"));
  CHECK(!dense.built());
}

TEST_CASE("a model of unknown extents is exported for those of a signature", "[unknown_extents]") {
  const std::string error = error_of([] { transformer(-1)->export_model("unused.onnx"); });
  if (error.find("without protozero") != error.npos) SKIP("a build without protozero");
  CHECK_THAT(error, ContainsSubstring("set input_signature"));
}
