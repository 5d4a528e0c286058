#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Models that are defined from their inputs to their outputs; losses, weights and metrics of several outputs.
using namespace etude;
using namespace etude::samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using testing::error_of;

namespace {

/// One unit of weight `weight`, without bias.
LayerPtr unit(const char* name, double weight = 1) {
  return layers::dense(
      {.units = 1, .use_bias = false, .kernel_initializer = initializers::constant({.value = weight}), .name = name});
}

/// x [2] -> "sum", the sum of x, and "twice", twice that.
Functional two_outputs() {
  const SymbolicTensor x = layers::input({.shape = {2}, .name = "x"});
  return Functional({x}, {unit("sum")->apply(x), unit("twice", 2)->apply(x)});
}

CompileOptions sgd(double learning_rate = 0) {
  return {.optimizer = optimizers::sgd({.learning_rate = learning_rate})};
}

Texts names_of(const Logs& logs) {
  Texts names;
  for (std::size_t i = 0; i < logs.size(); ++i) names.push_back(logs.name(i));
  return names;
}

const Tensor ones = filled({4, 2}, 1), zeros = filled({4, 1}, 0);

}  // namespace

TEST_CASE("a functional model computes the same as its layers in sequence", "[functional]") {
  const SymbolicTensor x = layers::input({.shape = {3}});
  const std::vector<LayerPtr> dense = two_dense();
  const SymbolicTensor y = dense[1]->apply(dense[0]->apply(x));
  CHECK(y.shape() == Shape{-1, 1});
  Functional model({x}, {y});
  CHECK(model.built());
  Sequential sequential(two_dense());
  const Tensor data = waves({5, 3});
  CHECK(testing::same_bits(model.predict(data, {.verbose = 0}), sequential.predict(data, {.verbose = 0})));
}

TEST_CASE("a model may start at a tensor that a layer computes, and shares the layers after it", "[functional]") {
  const SymbolicTensor x = layers::input({.shape = {2}, .name = "x"}),
                       other = layers::input({.shape = {1}, .name = "other"});
  const LayerPtr body = layers::dense({.units = 3}), head = unit("head", 2);
  const SymbolicTensor features = body->apply(x);
  const SymbolicTensor y = layers::add()->apply({head->apply(features), other});
  Functional whole({x, other}, {y, features}), start({x}, {features}), rest({features, other}, {y});
  const Tensor first = waves({4, 2}), second = waves({4, 1});
  const std::vector<Tensor> expected = whole.predict_outputs(Batch{{first, second}, {}, {}}, {.verbose = 0});
  const Tensor between = start.predict(first, {.verbose = 0});
  CHECK(testing::same_bits(between, expected[1]));
  CHECK(testing::same_bits(rest.predict(Batch{{between, second}, {}, {}}, {.verbose = 0}), expected[0]));
  CHECK(rest.layers().at(2) == head);
  CHECK(rest.count_params() == 3);
  CHECK(from_json<Layer>(to_json<Layer>(rest))->count_params() == 3);
}

TEST_CASE("a model that starts at a computed tensor still needs the other inputs of its outputs", "[functional]") {
  const SymbolicTensor a = layers::input({.shape = {2}, .name = "a"}), b = layers::input({.shape = {2}, .name = "b"});
  const SymbolicTensor inner = unit("first")->apply(a);
  CHECK_THAT(error_of([&] { Functional({inner}, {layers::add()->apply({inner, unit("second")->apply(b)})}); }),
             ContainsSubstring("the outputs depend on input \"b\""));
}

TEST_CASE("layers branch, merge, and share one set of weights when used twice", "[functional]") {
  const SymbolicTensor a = layers::input({.shape = {2}, .name = "a"}), b = layers::input({.shape = {2}, .name = "b"});
  const LayerPtr shared = unit("shared", 3), join = layers::concatenate();
  const SymbolicTensor joined = join->apply({shared->apply(a), shared->apply(b)});
  Functional model({a, b}, {joined, layers::add()->apply({a, b})});
  CHECK(model.weights().size() == 1);
  const std::vector<Tensor> outputs =
      model.predict_outputs(Batch{{filled({2, 2}, 1), filled({2, 2}, 2)}, {}, {}}, {.verbose = 0});
  REQUIRE(outputs.size() == 2);
  CHECK(numbers(outputs[0]) == std::vector<double>{6, 12, 6, 12});
  CHECK(numbers(outputs[1]) == std::vector<double>{3, 3, 3, 3});
}

TEST_CASE("layers are in the order of Keras, also those that are called at several distances to the outputs",
          "[functional]") {
  const SymbolicTensor a = layers::input({.shape = {2}, .name = "a"}), b = layers::input({.shape = {2}, .name = "b"});
  const LayerPtr shared = unit("S", 2);
  const SymbolicTensor near = shared->apply(unit("D1", 2)->apply(a));
  const SymbolicTensor far = unit("D4", 2)->apply(unit("D3", 2)->apply(shared->apply(unit("D2", 2)->apply(b))));
  const Functional model({a, b}, {layers::add({.name = "sum"})->apply({near, far})});
  std::vector<std::string> names;
  for (const LayerPtr& layer : model.layers()) names.push_back(layer->name());
  CHECK(names == std::vector<std::string>{"a", "b", "D1", "D2", "S", "D3", "D4", "sum"});  // Keras 3.15.1
}

TEST_CASE("a model is a layer of another model", "[functional]") {
  const SymbolicTensor inner_x = layers::input({.shape = {2}});
  const auto inner = std::make_shared<Functional>(std::vector{inner_x}, std::vector{unit("inner", 2)->apply(inner_x)});
  const SymbolicTensor x = layers::input({.shape = {2}});
  Functional model({x}, {unit("outer", 5)->apply(inner->apply(x))});
  CHECK(numbers(model.predict(ones, {.verbose = 0})) == std::vector<double>(4, 20));
}

TEST_CASE("an axis of extent 1 at the end of the data may be missing or extra", "[functional]") {
  const SymbolicTensor x = layers::input({.shape = {1}});
  Functional model({x}, {unit("unit", 2)->apply(x)});
  CHECK(numbers(model.predict(filled({3}, 1), {.verbose = 0})) == std::vector<double>(3, 2));
  CHECK(numbers(model.predict(filled({3, 1, 1}, 1), {.verbose = 0})) == std::vector<double>(3, 2));
  CHECK_THAT(error_of([&] { model.predict(filled({3, 2}, 1), {.verbose = 0}); }), ContainsSubstring("[-1, 1]"));
}

TEST_CASE("the loss is the weighted sum of the outputs' losses; each is logged unweighted (L-23)", "[functional]") {
  Functional model = two_outputs();
  const Data data(Batch{{ones}, {zeros, zeros}, {}});
  CompileOptions how = sgd();
  // The outputs are 2 and 4: squared errors 4 and 16.
  const auto logs_with = [&](const CompileOptions& options) {
    model.compile(options);
    return model.evaluate(data, {.verbose = 0});
  };
  how.loss = "mse";
  Logs logs = logs_with(how);
  CHECK(names_of(logs) == Texts{"loss", "sum_loss", "twice_loss"});
  CHECK(logs["loss"] == 20);
  how.loss = {"mse", "maee"};
  CHECK_THAT(error_of([&] { logs_with(how); }), ContainsSubstring("maee"));
  how.loss = {"mse", "mse"};
  how.loss_weights = {{"sum", 1}, {"twice", 0.5}};
  logs = logs_with(how);
  CHECK(logs["loss"] == 12);
  CHECK(logs["sum_loss"] == 4);
  CHECK(logs["twice_loss"] == 16);
  how.loss = {{"twice", "mse"}};
  how.loss_weights = PerOutput<double>();
  logs = logs_with(how);
  CHECK(names_of(logs) == Texts{"loss", "twice_loss"});
  CHECK(logs["loss"] == 16);
}

TEST_CASE("metrics of several outputs carry the outputs' names (M-12)", "[functional]") {
  Functional model = two_outputs();
  const Data data(Batch{{ones}, {zeros, zeros}, {}});
  CompileOptions how = sgd();
  how.loss = "mse";
  how.metrics = {"mse"};
  model.compile(how);
  CHECK(names_of(model.evaluate(data, {.verbose = 0})) ==
        Texts{"loss", "sum_loss", "twice_loss", "sum_mse", "twice_mse"});
  how.metrics = MetricsByName{{"twice", {"mse", "binary_crossentropy"}}};
  model.compile(how);
  CHECK(names_of(model.evaluate(data, {.verbose = 0})) ==
        Texts{"loss", "sum_loss", "twice_loss", "twice_mse", "twice_binary_crossentropy"});
}

TEST_CASE("sample weights are those of each output, or of all", "[functional]") {
  Functional model = two_outputs();
  CompileOptions how = sgd();
  how.loss = "mse";
  model.compile(how);
  const Tensor none = filled({4}, 0), double_weight = filled({4}, 2);
  CHECK(model.evaluate(Batch{{ones}, {zeros, zeros}, {none, double_weight}}, {.verbose = 0})["loss"] == 32);
  CHECK(model.evaluate(Batch{{ones}, {zeros, zeros}, {double_weight}}, {.verbose = 0})["loss"] == 40);
}

TEST_CASE("an output without a loss is predicted and not trained", "[functional]") {
  Functional model = two_outputs();
  CompileOptions how = sgd(0.1);
  how.loss = {{"sum", "mse"}};
  model.compile(how);
  model.fit(Batch{{ones}, {zeros, zeros}, {}}, {.verbose = 0});
  CHECK(model.get_layer("sum")->get_weights()[0].at(0) != 1);
  CHECK(model.get_layer("twice")->get_weights()[0].at(0) == 2);
}

TEST_CASE("data and options that do not fit a model of several outputs are refused", "[functional]") {
  Functional model = two_outputs();
  CompileOptions how = sgd();
  how.loss = {{"thrice", "mse"}};
  model.compile(how);
  const Data good(Batch{{ones}, {zeros, zeros}, {}});
  CHECK_THAT(error_of([&] { model.evaluate(good, {.verbose = 0}); }), ContainsSubstring("one of: sum, twice"));
  how.loss = "mse";
  model.compile(how);
  CHECK_THAT(error_of([&] { model.evaluate(ones, zeros, {.verbose = 0}); }), ContainsSubstring("1 targets for 2"));
  CHECK_THAT(error_of([&] { model.predict(ones, {.verbose = 0}); }), ContainsSubstring("predict_outputs"));
  const SymbolicTensor x = layers::input({.shape = {2}, .name = "x"}), z = layers::input({.shape = {2}, .name = "z"});
  const SymbolicTensor sum = layers::add()->apply({x, z});
  CHECK_THAT(error_of([&] { Functional({x}, {sum}); }), ContainsSubstring("depend on input \"z\""));
  CHECK_THAT(error_of([&] { Functional({x}, {unit("a")->apply(unit("a")->apply(x))}); }),
             ContainsSubstring("two layers named \"a\""));
  CHECK_THAT(error_of([&] { layers::input({.shape = {-2, 2}}); }), ContainsSubstring("[-2, 2]"));
}

TEST_CASE("an LSTM with return_state returns its output and its last state, and accepts an initial state",
          "[functional]") {
  const SymbolicTensor x = layers::input({.shape = {5, 3}}), h = layers::input({.shape = {2}}),
                       c = layers::input({.shape = {2}});
  const auto lstm = layers::lstm({.units = 2, .return_state = true});
  Functional model({x, h, c}, lstm->apply_all({x, h, c}));
  const Tensor data = waves({4, 5, 3}), nothing = filled({4, 2}, 0);
  const std::vector<Tensor> whole = model.predict_outputs(Batch{{data, nothing, nothing}, {}, {}}, {.verbose = 0});
  REQUIRE(whole.size() == 3);
  CHECK(testing::same_bits(whole[0], whole[1]));
  const std::vector<Tensor> again = model.predict_outputs(Batch{{data, whole[1], whole[2]}, {}, {}}, {.verbose = 0});
  CHECK(!testing::same_bits(whole[0], again[0]));
}

TEST_CASE("regularizers of trained weights are part of the loss, and of their gradients (L-23, A-21)", "[functional]") {
  Sequential model({layers::dense({.units = 1,
                                   .use_bias = false,
                                   .kernel_initializer = "ones",
                                   .kernel_regularizer = regularizers::l1_l2({.l1 = 0.5, .l2 = 0.25})})});
  CompileOptions how = sgd(1);
  how.loss = "mse";
  how.metrics = {"mse"};
  model.compile(how);
  // Two weights of 1: 0.5 · 2 + 0.25 · 2, and the gradient of each is 0.5 + 2 · 0.25. The error is 0.
  const auto history = model.fit(ones, filled({4, 1}, 2), {.verbose = 0});
  CHECK((*history)["loss"][0] == 1.5);
  CHECK((*history)["mse"][0] == 0);
  CHECK(numbers(model.get_weights()[0]) == std::vector<double>{0, 0});
  model.get_layer(std::size_t{0})->set_trainable(false);
  model.compile(how);
  CHECK(model.evaluate(ones, filled({4, 1}, 0), {.verbose = 0})["loss"] == 0);
}

TEST_CASE("add_loss and activity regularizers add to the loss, and add_metric to the logs", "[functional]") {
  struct Own : Sequential {
    Own() : Sequential(summing_unit()) {
      add(layers::dense({.units = 1,
                         .use_bias = false,
                         .kernel_initializer = "ones",
                         .activity_regularizer = regularizers::l1({.l1 = 0.5}),
                         .name = "paid"}));
    }
    Value call(Value x, bool training) override {
      const Value y = Sequential::call(x, training);
      add_loss(ops::mean(y) * 10);
      add_metric(ops::mean(y), "mean_output");
      return y;
    }
  } model;
  model.compile(sgd());
  // Without another loss: outputs are 2, four of them.
  const Logs logs = model.evaluate(ones, zeros, {.verbose = 0});
  CHECK(logs["loss"] == 0.5 * 8 / 4 + 10 * 2);
  CHECK(logs["mean_output"] == 2);
}

TEST_CASE("class_weight multiplies sample_weight in the loss and in weighted metrics (L-27, L-33)", "[functional]") {
  const Tensor labels = Tensor::from<float>({4, 1}, {0, 1, 1, 2});
  CHECK(numbers(class_weights_of(labels, {{1, 10}, {2, 0}})) == std::vector<double>{1, 10, 10, 0});
  CHECK(numbers(class_weights_of(Tensor::from<float>({2, 3}, {0, 1, 0, 1, 0, 0}), {{1, 3}})) ==
        std::vector<double>{3, 1});
  CHECK_THAT(error_of([] { class_weights_of(filled({2, 2, 2}, 0), {}); }), ContainsSubstring("3+ dimensional"));

  Sequential model(summing_unit());
  CompileOptions how = sgd();
  how.loss = "mse";
  how.metrics = {"mse"};
  how.weighted_metrics = {"mse"};
  model.compile(how);
  // Outputs of 2 for labels 0, 1, 1, 2: squared errors 4, 1, 1, 0.
  auto history = model.fit(ones, labels, {.verbose = 0, .class_weight = {{1, 10}}});
  CHECK((*history)["loss"][0] == 24.0 / 4);
  CHECK((*history)["mse"][0] == 6.0 / 4);
  CHECK_THAT((*history)["weighted_mse"][0], WithinAbs(24.0 / 22, 1e-6));
  const Tensor halves = filled({4}, 0.5);
  history = model.fit(ones, labels, halves, {.verbose = 0, .class_weight = {{1, 10}}});
  CHECK((*history)["loss"][0] == 12.0 / 4);

  Functional two = two_outputs();
  how.weighted_metrics = MetricChoices();
  two.compile(how);
  CHECK_THAT(error_of([&] { two.fit(Batch{{ones}, {zeros, zeros}, {}}, {.verbose = 0, .class_weight = {{0, 1}}}); }),
             ContainsSubstring("single output"));
}

TEST_CASE("functional: summary prints inputs as Keras does, and the inputs of layers in a branched model",
          "[functional]") {
  // The rows of Keras 3.15.1, whose columns have the width of its terminal.
  const auto summary_of = [](const Model& model) {
    std::string text;
    model.summary({.print_fn = [&](std::string_view part) { text += part; }});
    return text;
  };
  const SymbolicTensor in = layers::input({.shape = {4}, .name = "in"});
  const Functional chain({in}, {layers::dense({.units = 3, .name = "a"})->apply(in)}, {.name = "chain"});
  CHECK(summary_of(chain) ==
        "Model: \"chain\"\n"
        "┏━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┓\n"
        "┃ Layer (type)    ┃ Output Shape ┃ Param # ┃\n"
        "┡━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━┩\n"
        "│ in (InputLayer) │ (None, 4)    │       0 │\n"
        "├─────────────────┼──────────────┼─────────┤\n"
        "│ a (Dense)       │ (None, 3)    │      15 │\n"
        "└─────────────────┴──────────────┴─────────┘\n"
        " Total params: 15 (60.00 B)\n"
        " Trainable params: 15 (60.00 B)\n"
        " Non-trainable params: 0 (0.00 B)\n");

  const LayerPtr shared = layers::dense({.units = 3, .name = "shared"});
  const SymbolicTensor first = shared->apply(in);
  const SymbolicTensor second = shared->apply(layers::dense({.units = 4, .name = "k"})->apply(first));
  const SymbolicTensor both = layers::concatenate({.name = "both"})->apply({first, second});
  CHECK(summary_of(Functional({in}, {both, second}, {.name = "branches"})) ==
        "Model: \"branches\"\n"
        "┏━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━━━━━┓\n"
        "┃ Layer (type)       ┃ Output Shape ┃ Param # ┃ Connected to               ┃\n"
        "┡━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━━━━━┩\n"
        "│ in (InputLayer)    │ (None, 4)    │       0 │ -                          │\n"
        "├────────────────────┼──────────────┼─────────┼────────────────────────────┤\n"
        "│ shared (Dense)     │ (None, 3)    │      15 │ in[0][0], k[0][0]          │\n"
        "├────────────────────┼──────────────┼─────────┼────────────────────────────┤\n"
        "│ k (Dense)          │ (None, 4)    │      16 │ shared[0][0]               │\n"
        "├────────────────────┼──────────────┼─────────┼────────────────────────────┤\n"
        "│ both (Concatenate) │ (None, 6)    │       0 │ shared[0][0], shared[1][0] │\n"
        "└────────────────────┴──────────────┴─────────┴────────────────────────────┘\n"
        " Total params: 31 (124.00 B)\n"
        " Trainable params: 31 (124.00 B)\n"
        " Non-trainable params: 0 (0.00 B)\n");
}

TEST_CASE("functional: a model of several outputs, called on data, returns a list", "[functional]") {
  Functional model = one_and_two();
  const Tensor x = waves({4, 3});
  const std::vector<Tensor> called = model.call_all({x}), predicted = model.predict_outputs(x, {.verbose = 0});
  REQUIRE(called.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(called[i].shape() == predicted[i].shape());
    CHECK(numbers(called[i]) == numbers(predicted[i]));
  }
  CHECK_THAT(error_of([&] { model(x); }),
             ContainsSubstring("2 outputs instead of one") && ContainsSubstring("call_all()"));
  CHECK(layers::dense({.units = 2})->call_all({x}).size() == 1);
}
