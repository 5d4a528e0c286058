#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "support.hpp"
#include "training_samples.hpp"

// Models that know their input: the tensors of layers and models, and Sequential models that begin with an InputLayer.
using namespace etude;
using namespace etude::samples;
using Catch::Matchers::ContainsSubstring;
using etude::testing::error_of;
using etude::testing::kind_of;
using etude::testing::same_bits;
using nlohmann::json;

namespace {

std::vector<LayerPtr> three_layers() {
  std::vector<LayerPtr> all{layers::input_layer({.shape = {3}, .name = "in"})};
  for (LayerPtr& layer : two_dense()) all.push_back(std::move(layer));
  return all;
}

}  // namespace

TEST_CASE("layer.input and layer.output are the tensors of its only call", "[functional][known_input]") {
  const SymbolicTensor x = layers::input({.shape = {3}, .name = "x"});
  const LayerPtr dense = layers::dense({.units = 4, .name = "d"});
  CHECK_THAT(error_of([&] { static_cast<void>(dense->output()); }),
             ContainsSubstring("[Dense \"d\"] its output, but it was called 0 times"));
  {
    const SymbolicTensor y = dense->apply(x);
    CHECK(dense->input() == x);
    CHECK(dense->output() == y);
    const SymbolicTensor z = dense->apply(layers::input({.shape = {3}}));
    CHECK_THAT(error_of([&] { static_cast<void>(dense->input()); }), ContainsSubstring("called 2 times"));
    CHECK(kind_of([&] { static_cast<void>(dense->input()); }) == ErrorKind::state);
  }
  CHECK_THAT(error_of([&] { static_cast<void>(dense->output()); }), ContainsSubstring("called 0 times"));
  const LayerPtr add = layers::add();
  const SymbolicTensor sum = add->apply({x, x});
  CHECK(add->inputs() == std::vector{x, x});
  CHECK_THAT(error_of([&] { static_cast<void>(add->input()); }), ContainsSubstring("of which it has 2"));
  CHECK(add->output() == sum);
}

TEST_CASE("a tensor keeps its layer alive, and a layer does not keep its tensors", "[functional][known_input]") {
  std::weak_ptr<Layer> layer;
  std::weak_ptr<const LayerCall> call;
  {
    const SymbolicTensor y = layers::dense({.units = 2})->apply(layers::input({.shape = {3}}));
    layer = y.call()->layer;
    call = y.call();
    CHECK_FALSE(layer.expired());
  }
  CHECK(call.expired());
  CHECK(layer.expired());
}

TEST_CASE("a model of the features of another one shares its layers", "[functional][known_input]") {
  const SymbolicTensor x = layers::input({.shape = {3}});
  const std::vector<LayerPtr> dense = two_dense();
  Functional functional({x}, {dense[1]->apply(dense[0]->apply(x))});
  Sequential sequential(three_layers());
  const Tensor data = waves({5, 3});
  for (Model* model : {static_cast<Model*>(&functional), static_cast<Model*>(&sequential)}) {
    const LayerPtr hidden = model->get_layer(model->layers().size() - 2);
    Functional features({model->inputs()}, {hidden->output()});
    CHECK(same_bits(features.predict(data, {.verbose = 0}), (*hidden)(data)));
    CHECK(features.layers().back() == hidden);
    CHECK(model->output().shape() == Shape{-1, 1});
  }
  Functional head({dense[0]->output()}, functional.outputs());
  CHECK(head.predict(waves({2, 4}), {.verbose = 0}).shape() == Shape{2, 1});
  CHECK(dense[1]->output() == functional.output());  // a part of a model is no other call of its layers
}

TEST_CASE("a Sequential that begins with an InputLayer is built at once, with the weights of one built by data",
          "[model][known_input]") {
  Sequential known(three_layers()), by_data(two_dense());
  CHECK(known.built());
  CHECK(known.layers().size() == 2);
  CHECK(known.get_layer(0)->class_name() == "Dense");
  const Tensor x = waves({6, 3}), y = signs_of(x);
  CHECK(same_bits(known.predict(x, {.verbose = 0}), by_data.predict(x, {.verbose = 0})));
  for (Sequential* model : {&known, &by_data}) {
    model->compile(mse());
    model->fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false});
  }
  CHECK(weights_of(known) == weights_of(by_data));
  std::string text;
  Sequential(three_layers()).summary({.print_fn = [&](std::string_view part) { text += part; }});
  CHECK_THAT(text, ContainsSubstring("(None, 4)") && ContainsSubstring("Total params: 21") &&
                       !ContainsSubstring("InputLayer"));
}

TEST_CASE("add and pop change a Sequential that knows its input", "[model][known_input]") {
  Sequential model({layers::input_layer({.shape = {3}})});
  CHECK(model.output().shape() == Shape{-1, 3});
  model.add(layers::dense({.units = 4, .name = "first"}));
  model.add(layers::dense({.units = 2, .name = "second"}));
  CHECK(model.output().shape() == Shape{-1, 2});
  model.pop();
  CHECK(model.output() == model.get_layer("first")->output());
  model.add(layers::dense({.units = 7, .name = "second"}));
  CHECK(model.predict(waves({2, 3}), {.verbose = 0}).shape() == Shape{2, 7});
  CHECK_THAT(error_of([&] { model.add(layers::input_layer({.shape = {3}, .name = "late"})); }),
             ContainsSubstring("the InputLayer \"late\" after other layers"));
  CHECK_THAT(error_of([&] { model.add(layers::conv2d({.filters = 1, .kernel_size = 2, .name = "flat"})); }),
             ContainsSubstring("flat"));
  CHECK(model.layers().size() == 2);
  CHECK(model.output().shape() == Shape{-1, 7});
}

TEST_CASE("a Sequential that knows its input refuses other data, and accepts a column without its axis",
          "[model][known_input]") {
  Sequential model({layers::input_layer({.shape = {1}}),
                    layers::dense({.units = 1, .use_bias = false, .kernel_initializer = "ones"})});
  CHECK(numbers(model.predict(filled({3}, 2), {.verbose = 0})) == std::vector<double>{2, 2, 2});
  CHECK_THAT(error_of([&] { model.predict(filled({3, 2}, 2), {.verbose = 0}); }), ContainsSubstring("[-1, 1]"));
}

TEST_CASE("a Sequential with an InputLayer is saved, loaded and cloned with it", "[model][known_input]") {
  Sequential model(three_layers());
  const std::string text = to_json<Layer>(model);
  // Keras 3.15.1 writes batch_shape, dtype and name, and three further options of sparse data.
  CHECK(json::parse(text)["config"]["layers"][0] ==
        json{{"module", "keras.layers"},
             {"class_name", "InputLayer"},
             {"config", {{"batch_shape", {nullptr, 3}}, {"dtype", "float32"}, {"name", "in"}}},
             {"registered_name", nullptr}});
  for (const LayerPtr& twin : {from_json<Layer>(text), LayerPtr(clone_model(model))}) {
    CHECK(to_json<Layer>(*twin) == text);
    CHECK(twin->output().shape() == Shape{-1, 1});
    CHECK(twin->count_params() == 21);
  }
}

TEST_CASE("a Sequential that knows its input is a layer of a functional model", "[model][known_input]") {
  const auto inner = std::make_shared<Sequential>(three_layers());
  const SymbolicTensor x = layers::input({.shape = {3}});
  Functional model({x}, {inner->apply(x) * 2});
  const Tensor data = waves({4, 3});
  const std::vector<double> once = numbers(inner->predict(data, {.verbose = 0}));
  std::vector<double> twice;
  for (const double number : once) twice.push_back(2 * number);
  CHECK(numbers(model.predict(data, {.verbose = 0})) == twice);
}
