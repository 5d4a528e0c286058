#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Arrays by the names of a model's inputs and outputs.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::error_of;

LayerPtr times(double factor, const char* name) {
  return layers::dense(
      {.units = 1, .use_bias = false, .kernel_initializer = initializers::constant({.value = factor}), .name = name});
}

/// z and a, in another order than that of their names -> "sum" = z + 10 a, "double" = 2 z.
Functional two_and_two() {
  const SymbolicTensor z = layers::input({.shape = {1}, .name = "z"}), a = layers::input({.shape = {1}, .name = "a"});
  return Functional(
      {z, a}, {layers::add({.name = "sum"})->apply({z, times(10, "ten")->apply(a)}), times(2, "double")->apply(z)});
}

constexpr std::int64_t rows = 4;
const Tensor ones = filled({rows, 1}, 1), twos = filled({rows, 1}, 2), zeros = filled({rows, 1}, 0);

/// The loss of each output of a model that is not trained.
std::vector<double> losses_of(const Data& data) {
  Functional model = two_and_two();
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
  const Logs logs = model.evaluate(data, {.verbose = 0});
  return {logs["sum_loss"], logs["double_loss"]};
}

}  // namespace

TEST_CASE("inputs by name match the model's inputs of that name", "[data]") {
  Functional model = two_and_two();
  const auto outputs = model.predict_outputs(NamedColumns{{"a", twos}, {"z", ones}}, {.verbose = 0});
  CHECK(numbers(outputs[0]) == std::vector<double>(rows, 21));
  CHECK(numbers(outputs[1]) == std::vector<double>(rows, 2));
}

TEST_CASE("targets by name match the outputs of that name; inputs may be in order", "[data]") {
  const Tensor sum = filled({rows, 1}, 20), twice = filled({rows, 1}, 5);
  const std::vector<double> wanted{1, 9};
  CHECK(losses_of(Data({{"a", twos}, {"z", ones}}, {{"double", twice}, {"sum", sum}})) == wanted);
  CHECK(losses_of(Data({{"a", twos}, {"z", ones}}, std::vector<Column>{sum, twice})) == wanted);
  CHECK(losses_of(Data(std::vector<Column>{ones, twos}, {{"double", twice}, {"sum", sum}})) == wanted);
}

TEST_CASE("an output without a named sample weight has weight 1", "[data]") {
  CHECK(losses_of(Data({{"a", twos}, {"z", ones}}, {{"double", zeros}, {"sum", zeros}},
                       {{"double", filled({rows}, 3)}})) == std::vector<double>{441, 12});
  const std::vector<std::vector<double>> list(rows, {1});
  CHECK(losses_of(Data({{"a", list}, {"z", list}}, {{"double", list}, {"sum", list}},
                       {{"double", std::vector<double>(rows, 3)}})) == std::vector<double>{100, 3});
}

TEST_CASE("one batch by name; every output of a model is predicted on it", "[data][training]") {
  Functional model = two_and_two();
  const Data batch({{"a", twos}, {"z", ones}}, {{"double", zeros}, {"sum", zeros}});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
  CHECK(model.train_on_batch(batch)["sum_loss"] == 441);
  CHECK(model.test_on_batch(batch)["double_loss"] == 4);
  const std::vector<Tensor> outputs = model.predict_outputs_on_batch(NamedColumns{{"a", twos}, {"z", ones}});
  REQUIRE(outputs.size() == 2);
  CHECK(numbers(outputs[0]) == std::vector<double>(rows, 21));
  CHECK(numbers(outputs[1]) == std::vector<double>(rows, 2));
  CHECK_THAT(error_of([&] { model.predict_on_batch(Batch{{ones, twos}, {}, {}}); }),
             ContainsSubstring("[predict_on_batch] a model with 2 outputs - expected one"));
}

TEST_CASE("arrays of all forms can have names, in training, validation data and validation_split", "[data]") {
  Functional model = two_and_two();
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
  const std::vector<std::vector<double>> list(rows, {1});
  const Data lists({{"a", list}, {"z", list}}, {{"double", list}, {"sum", list}});
  const auto history = model.fit(
      lists, {.verbose = 0, .validation_data = Data({{"a", twos}, {"z", ones}}, {{"double", ones}, {"sum", ones}})});
  CHECK((*history)["sum_loss"] == std::vector{100.0});
  CHECK((*history)["val_sum_loss"] == std::vector{400.0});
  const auto split = model.fit(lists, {.verbose = 0, .validation_split = 0.5});
  CHECK((*split)["val_sum_loss"] == std::vector{100.0});
}

TEST_CASE("names that do not match the model are errors", "[data]") {
  const ColumnGroup inputs{{"a", twos}, {"z", ones}}, targets{{"double", zeros}, {"sum", zeros}};
  CHECK_THAT(error_of([&] { losses_of(Data({{"a", twos}}, targets)); }), ContainsSubstring("no data for input \"z\""));
  CHECK_THAT(error_of([&] { losses_of(Data(inputs, {{"sum", zeros}, {"double", zeros}, {"triple", zeros}})); }),
             ContainsSubstring("`y` for output \"triple\" - expected one of: sum, double"));
  CHECK_THAT(error_of([&] { losses_of(Data(inputs, targets, {{"triple", zeros}})); }),
             ContainsSubstring("`sample_weight` for output \"triple\""));
  Sequential unnamed(two_dense());
  CHECK_THAT(error_of([&] { unnamed.predict(NamedColumns{{"x", ones}}, {.verbose = 0}); }),
             ContainsSubstring("a model without names"));
}

TEST_CASE("inputs that the model does not have are ignored, with Keras's warning", "[data]") {
  CHECK(losses_of(Data({{"a", twos}, {"z", ones}, {"more", zeros}}, {{"double", zeros}, {"sum", zeros}})) ==
        std::vector<double>{441, 4});
}

}  // namespace etude
