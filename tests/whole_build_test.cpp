#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// A build is complete, or has no effect.

using namespace etude;
using Catch::Matchers::ContainsSubstring;
using samples::waves;
using testing::error_of;

namespace {

/// Zeros, after they are allowed.
class Moody : public Initializer {
 public:
  bool works = false;
  Tensor operator()(const Shape& shape, DType dtype) override {
    if (!works) throw std::runtime_error("not in the mood");
    return Tensor(shape, dtype);
  }
};

const Tensor x = waves({4, 3});

bool is_untouched(const Layer& layer) {
  return !layer.built() && layer.variables().empty() && !layer.input_shape() && !layer.output_shape();
}

}  // namespace

TEST_CASE("a failed build leaves no weights, and can be repeated", "[build]") {
  const auto moody = std::make_shared<Moody>();
  const LayerPtr layer = layers::dense(
      {.units = 2, .bias_initializer = InitializerPtr(moody), .kernel_regularizer = regularizers::l2({.l2 = 1})});
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_WITH((*layer)(x), "not in the mood");
    CHECK(is_untouched(*layer));
  }
  moody->works = true;
  CHECK((*layer)(x).shape() == Shape{4, 2});
  CHECK(layer->weights().size() == 2);
  Sequential model({layer});
  model.compile(samples::mse());
  model.fit(x, Tensor({4, 2}), {.verbose = 0});
}

TEST_CASE("a failed build of a layer with states, or with inner layers, leaves no weights", "[build]") {
  const auto moody = std::make_shared<Moody>();
  const LayerPtr lstm = layers::lstm({.units = 2,
                                      .bias_initializer = InitializerPtr(moody),
                                      .unit_forget_bias = false,
                                      .dropout = 0.5,
                                      .stateful = true});
  const LayerPtr attention = layers::multi_head_attention(
      {.num_heads = 2, .key_dim = 2, .dropout = 0.5, .bias_initializer = InitializerPtr(moody)});
  const Tensor steps = waves({4, 5, 3});
  const std::size_t drawing = attention->variables().size();  // the counter of its dropout existed before
  for (int i = 0; i < 2; ++i) {
    CHECK_THROWS_WITH((*lstm)(steps), "not in the mood");
    CHECK_THROWS_WITH((*attention)(std::vector{steps, steps}), "not in the mood");
    CHECK(lstm->weights().empty());
    CHECK(lstm->variables().size() == 1);
    CHECK(attention->weights().empty());
    CHECK(attention->variables().size() == drawing);
  }
  moody->works = true;
  CHECK((*lstm)(steps).shape() == Shape{4, 2});
  CHECK(lstm->weights().size() == 3);
  CHECK((*attention)(std::vector{steps, steps}).shape() == steps.shape());
  CHECK(attention->weights().size() == 8);
}

TEST_CASE("if the second layer cannot be built, no layer of the model is built", "[build]") {
  const auto moody = std::make_shared<Moody>();
  const LayerPtr first = layers::dense({.units = 2}),
                 second = layers::dense({.units = 1, .kernel_initializer = InitializerPtr(moody)});
  const auto inner = std::make_shared<Sequential>(std::vector<LayerPtr>{layers::dense({.units = 3}), second});
  const auto shared = std::make_shared<Sequential>(std::vector<LayerPtr>{first, inner});
  Sequential& model = *shared;
  model.compile(samples::mse());
  CHECK_THROWS_WITH(model.fit(x, Tensor({4, 1}), {.verbose = 0}), "not in the mood");
  CHECK_THROWS_WITH(model.build({-1, 3}), "not in the mood");
  const SymbolicTensor in = layers::input({.shape = {3}});
  CHECK_THROWS_WITH(model.apply(in), "not in the mood");
  for (const LayerPtr& layer : model.layers_inside()) CHECK(is_untouched(*layer));
  CHECK(is_untouched(model));
  moody->works = true;
  model.fit(waves({4, 7}), Tensor({4, 1}), {.verbose = 0});  // another width than in the failed builds
  CHECK(model.weights().size() == 6);
}

TEST_CASE("a model whose build fails for another reason is not built", "[build]") {
  Sequential model({layers::dense({.units = 4}), layers::conv2d({.filters = 1, .kernel_size = 2})});
  CHECK_THAT(error_of([&] { model.predict(x, {.verbose = 0}); }), ContainsSubstring("Conv2D"));
  CHECK(model.variables().empty());
  CHECK(is_untouched(*model.layers()[0]));
  CHECK(error_of([&] { model.predict(waves({2, 5, 5, 3}), {.verbose = 0}); }) == "no error");
  // Built layers stay built when a later call fails.
  CHECK_THAT(error_of([&] { model.predict(waves({2, 5, 5, 6}), {.verbose = 0}); }), ContainsSubstring("received"));
  CHECK(model.weights().size() == 4);
}

TEST_CASE("a layer that is destroyed during a failed build is not accessed", "[build]") {
  struct Own : Model {
    Value call(Value value, bool training) override {
      layers::dense({.units = 2})->operator()(value, training);
      fail(ErrorKind::value, "Own", "no - expected nothing - leave it.");
    }
  } model;
  CHECK(error_of([&] { model.predict(x, {.verbose = 0}); }).starts_with("[Own] no"));
  CHECK(is_untouched(model));
}
