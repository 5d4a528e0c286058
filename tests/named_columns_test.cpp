#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <optional>

#include "console_text.hpp"
#include "etude/etude.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Arrays, batches, inputs and outputs by name.
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

/// "x" = a + 10 b and "y" = 2 a. Keras 3.15.1 sorts the names of dicts, and so does Étude.
std::shared_ptr<Functional> by_name(const char* name = "by_name") {
  const SymbolicTensor a = layers::input({.shape = {1}, .name = "a"}), b = layers::input({.shape = {1}, .name = "b"});
  const SymbolicTensor sum = layers::add({.name = "sum"})->apply({a, times(10, "ten")->apply(b)});
  return std::make_shared<Functional>(
      SymbolicTensors{{"b", b}, {"a", a}},
      SymbolicTensors{{"y", times(2, "second")->apply(a)}, {"x", times(1, "first")->apply(sum)}},
      LayerOptions{.name = name});
}

constexpr std::int64_t rows = 4;
const Tensor ones = filled({rows, 1}, 1), twos = filled({rows, 1}, 2), zeros = filled({rows, 1}, 0);

const Batch batch_by_name = named_batch({{"a", twos}, {"z", ones}}, {{"double", zeros}, {"sum", zeros}});
const std::vector<double> squares{441, 4};

/// A number of such batches.
Generator batches(int count, const Batch& batch = batch_by_name) {
  return [count, batch]() mutable -> std::optional<Batch> { return count-- > 0 ? std::optional(batch) : std::nullopt; };
}

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
  const testing::ConsoleText warnings(Console::warnings);
  CHECK(losses_of(Data({{"a", twos}, {"z", ones}, {"more", zeros}}, {{"double", zeros}, {"sum", zeros}})) ==
        std::vector<double>{441, 4});
  CHECK_THAT(warnings.text(), ContainsSubstring("Input dict contained keys [more] which did not match any model input. "
                                                "They will be ignored by the model."));
}

TEST_CASE("batches by name match the model's inputs and outputs, from every kind of data", "[data]") {
  class Two : public Sequence {
   public:
    std::int64_t size() const override { return 2; }
    Batch batch(std::int64_t) override { return batch_by_name; }
  };
  const auto generate = [](int count) -> BatchGenerator {
    for (int i = 0; i < count; ++i) co_yield batch_by_name;
  };
  const auto rows_of = [](const ColumnGroup& x) { return Dataset::from_tensor_slices(named_batch(x)); };
  CHECK(losses_of(batches(2)) == squares);
  CHECK(losses_of(generate(2)) == squares);
  CHECK(losses_of(std::make_shared<Two>()) == squares);
  const Dataset dataset = Dataset::from_tensor_slices(batch_by_name);
  CHECK(losses_of(dataset.map([](Batch row) { return row; }).shuffle(rows).cache().batch(2).prefetch(1)) == squares);
  const Dataset zipped =
      Dataset::zip({rows_of({{"a", twos}, {"z", ones}}), rows_of({{"double", zeros}, {"sum", zeros}})});
  CHECK(losses_of(zipped.batch(2)) == squares);
}

TEST_CASE("in batches by name, too, outputs may lack weights or targets, and other inputs are ignored", "[data]") {
  const ColumnGroup inputs{{"a", twos}, {"z", ones}, {"more", zeros}}, targets{{"double", zeros}, {"sum", zeros}};
  CHECK(losses_of(batches(1, named_batch(inputs, targets, {{"double", filled({rows}, 3)}}))) ==
        std::vector<double>{441, 12});
  Functional model = two_and_two();
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
  CHECK(model.evaluate(batches(1, named_batch(inputs, {{"double", zeros}})), {.verbose = 0})["loss"] == 4);
}

TEST_CASE("a model of a dict of inputs and outputs has its names in data, predictions, calls and logs", "[data]") {
  // The numbers of Keras 3.15.1, whose model.output_names are those of the layers.
  const auto shared = by_name();
  Functional& model = *shared;
  CHECK(model.input_names() == Texts{"a", "b"});
  CHECK(model.output_names() == Texts{"x", "y"});
  const NamedColumns inputs{{"a", ones}, {"b", twos}};
  for (const NamedTensors& outputs : {model.predict_named(inputs, {.verbose = 0}), model.predict_named_on_batch(inputs),
                                      model.predict_named(batches(1, named_batch(inputs)), {.verbose = 0}),
                                      model.call_named({{"a", ones}, {"b", twos}})}) {
    REQUIRE(outputs.size() == 2);
    CHECK(numbers(outputs.at("x")) == std::vector<double>(rows, 21));
    CHECK(numbers(outputs.at("y")) == std::vector<double>(rows, 2));
  }
  CompileOptions how{.optimizer = optimizers::sgd({.learning_rate = 0})};
  how.loss = {{"x", "mse"}, {"y", "mae"}};
  how.loss_weights = {{"x", 2}, {"y", 1}};
  how.metrics = {{"x", {"mae"}}};
  model.compile(how);
  const Batch batch = named_batch(inputs, {{"x", ones}, {"y", ones}});
  for (const Data& data :
       {Data(batch), Data(batches(2, batch)), Data(std::vector<Column>{ones, twos}, std::vector<Column>{ones, ones})}) {
    const Logs logs = model.evaluate(data, {.verbose = 0});
    CHECK(logs["loss"] == 801);
    CHECK(logs["x_loss"] == 400);
    CHECK(logs["y_loss"] == 1);
    CHECK(logs["x_mae"] == 20);
  }
}

namespace {

/// A model of a custom class with inputs z and a, whose call returns a dict.
class Differences : public Model {
 public:
  std::vector<std::string> input_names() const override { return {"z", "a"}; }
  Value call(Value, bool) override { return {}; }
  Outputs call_with(const std::vector<Value>& x, bool) override {
    return {{"sum", x[0] + x[1]}, {"less", x[0] - x[1]}};
  }
  StepLogs test_step(const StepData& data) override {
    const Outputs y = (*this)(data.x, false);
    return {{"less", ops::mean(y.named("less"))}, {"loss", compute_loss(data, y)}};
  }
};

}  // namespace

TEST_CASE("a custom class names its inputs, and returns its outputs by name", "[data]") {
  Differences model;
  const NamedTensors outputs = model.predict_named(NamedColumns{{"a", ones}, {"z", twos}}, {.verbose = 0});
  CHECK(numbers(outputs.at("sum")) == std::vector<double>(rows, 3));
  CHECK(numbers(outputs.at("less")) == std::vector<double>(rows, 1));
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = {{"sum", "mse"}, {"less", "mae"}}});
  const Batch batch = named_batch({{"a", ones}, {"z", twos}}, {{"sum", zeros}, {"less", filled({rows, 1}, 5)}});
  for (const Data& data : {Data(batch), Data(batches(1, batch))}) {
    const Logs logs = model.evaluate(data, {.verbose = 0});
    CHECK(logs["less"] == 1);
    CHECK(logs["loss"] == 9 + 4);
  }
  CHECK_THAT(error_of([&] { model.test_on_batch(named_batch({{"a", ones}, {"z", twos}}, {{"more", zeros}})); }),
             ContainsSubstring("`y` for output \"more\" - expected one of: less, sum"));
}

TEST_CASE("JSON and clones keep the names of inputs and outputs", "[data][saving]") {
  const auto inner = by_name("inner");
  const SymbolicTensor p = layers::input({.shape = {1}, .name = "p"}), q = layers::input({.shape = {1}, .name = "q"});
  Functional outer({p, q}, {{"r", layers::subtract({.name = "sub"})->apply(inner->apply_all({p, q}))}});
  const std::string text = to_json<Layer>(outer);
  // As Keras 3.15.1 writes them, except for the order of keys.
  for (const char* part :
       {R"("input_layers":{"a":["a",0,0],"b":["b",0,0]})", R"("output_layers":{"x":["first",0,0],"y":["second",0,0]})",
        R"("input_layers":[["p",0,0],["q",0,0]])", R"("output_layers":{"r":["sub",0,0]})",
        R"("args":[{"a":{"class_name":"__keras_tensor__")"})
    CHECK_THAT(text, ContainsSubstring(part));
  // Keras writes the masks of the inputs.
  std::string with_masks = text;
  const std::string calls = R"("kwargs":{})";
  for (std::size_t at = 0; (at = with_masks.find(calls, at)) != std::string::npos; at += calls.size())
    with_masks.replace(at, calls.size(), R"("kwargs":{"mask":{"a":null,"b":null}})");
  REQUIRE(with_masks != text);
  for (const ModelPtr& model : {std::dynamic_pointer_cast<Model>(from_json<Layer>(text)),
                                std::dynamic_pointer_cast<Model>(from_json<Layer>(with_masks)), clone_model(outer)}) {
    REQUIRE(model);
    CHECK(to_json<Layer>(*model) == text);
    const NamedTensors outputs = model->predict_named(NamedColumns{{"p", ones}, {"q", twos}}, {.verbose = 0});
    CHECK(numbers(outputs.at("r")) == std::vector<double>(rows, 19));
  }
  CHECK_THAT(error_of([] {
               from_json<Layer>(R"({"class_name": "Functional", "config": {"layers": [{"class_name": "InputLayer",
                 "name": "a", "config": {"batch_shape": [null, 1]}, "inbound_nodes": []}],
                 "input_layers": {"u": {"a": ["a", 0]}}, "output_layers": {"u": ["a", 0, 0]}}})");
             }),
             ContainsSubstring("expected [layer, call, output]"));
}

TEST_CASE("names that are missing, unknown, doubled or of another batch are errors", "[data]") {
  const ColumnGroup inputs{{"a", twos}, {"z", ones}}, targets{{"double", zeros}, {"sum", zeros}};
  CHECK_THAT(error_of([&] { losses_of(batches(1, named_batch({{"a", twos}}, targets))); }),
             ContainsSubstring("no data for input \"z\""));
  CHECK_THAT(error_of([&] { losses_of(batches(1, named_batch(inputs, {{"sum", zeros}, {"triple", zeros}}))); }),
             ContainsSubstring("`y` for output \"triple\" - expected one of: sum, double"));
  CHECK_THAT(error_of([&] {
               losses_of(Generator([first = true]() mutable -> std::optional<Batch> {
                 return std::exchange(first, false)
                            ? batch_by_name
                            : named_batch({{"a", twos}, {"b", ones}}, std::vector<Column>{zeros, zeros});
               }));
             }),
             ContainsSubstring("other names than the first"));
  CHECK_THAT(error_of([&] { named_batch({{"a", ones}, {"a", twos}}); }), ContainsSubstring("2 arrays by 1 names"));
  const SymbolicTensor a = layers::input({.shape = {1}}), b = layers::input({.shape = {1}});
  CHECK_THAT(error_of([&] { Functional({{"a", a}, {"a", b}}, {a, b}); }), ContainsSubstring("2 tensors by 1 names"));
  CHECK_THAT(
      error_of([&] {
        Dataset::zip({Dataset::from_tensor_slices(batch_by_name), Dataset::from_tensor_slices(batch_by_name)}).begin();
      }),
      ContainsSubstring("expected a different name for each array"));
  Sequential unnamed(two_dense());
  CHECK_THAT(error_of([&] { unnamed.predict(batches(1, named_batch({{"x", ones}})), {.verbose = 0}); }),
             ContainsSubstring("a model without names"));
  Functional listed = two_and_two();
  CHECK_THAT(error_of([&] { listed.predict_named(NamedColumns{{"a", twos}, {"z", ones}}, {.verbose = 0}); }),
             ContainsSubstring("2 outputs are no dict"));
  CHECK_THAT(error_of([&] { by_name()->call_named({{"a", ones}}); }), ContainsSubstring("no data for input \"b\""));
}

}  // namespace etude
