#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <optional>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Inputs, outputs and data in nested lists and dicts, by their paths. The numbers, names and texts are those of Keras
// 3.15.1 on JAX, except where a comment says otherwise.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::error_of;

constexpr std::int64_t rows = 4;
Tensor column(float number) { return filled({rows, 1}, number); }
std::vector<double> all(double number) { return std::vector<double>(rows, number); }

LayerPtr times(double factor, const char* name) {
  return layers::dense(
      {.units = 1, .use_bias = false, .kernel_initializer = initializers::constant({.value = factor}), .name = name});
}

/// {"image": x, "meta": {"age": a, "sizes": [s, t]}} -> {"boxes": [x + 10 a + 100 s + 1000 t, 2 a], "score": 3 t}.
std::shared_ptr<Functional> nested(const char* name = "nested") {
  const auto input = [](const char* of) { return layers::input({.shape = {1}, .name = of}); };
  const SymbolicTensor x = input("x"), a = input("a"), s = input("s"), t = input("t");
  const SymbolicTensor total =
      layers::add({.name = "total"})
          ->apply({x, times(10, "ten")->apply(a), times(100, "hundred")->apply(s), times(1000, "thousand")->apply(t)});
  return std::make_shared<Functional>(
      SymbolicTensors{{"meta/sizes/0", s}, {"meta/sizes/1", t}, {"meta/age", a}, {"image", x}},
      SymbolicTensors{{"score", times(3, "sc")->apply(t)},
                      {"boxes/0", times(1, "b1")->apply(total)},
                      {"boxes/1", times(2, "b2")->apply(a)}},
      LayerOptions{.name = name});
}

const NamedColumns inputs{
    {"meta/sizes/1", column(4)}, {"meta/sizes/0", column(3)}, {"meta/age", column(2)}, {"image", column(1)}};
const NamedColumns targets{{"score", column(1)}, {"boxes/1", column(1)}, {"boxes/0", column(1)}};

CompileOptions with_losses() {
  CompileOptions how{.optimizer = optimizers::sgd({.learning_rate = 0})};
  how.loss = {{"boxes/0", "mse"}, {"boxes/1", "mae"}, {"score", "mse"}};
  how.loss_weights = {{"boxes/0", 0.5}, {"boxes/1", 2}, {"score", 1}};
  how.metrics = {{"boxes", {"mae", "mse"}}, {"score", {"mae"}}};
  return how;
}

Texts names_of(const Logs& logs) {
  Texts names;
  for (const auto& [name, value] : logs.values()) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("a model of nested lists and dicts has their paths in data, predictions and calls", "[nested]") {
  const auto model = nested();
  CHECK(model->input_names() == Texts{"image", "meta/age", "meta/sizes/0", "meta/sizes/1"});
  CHECK(model->output_names() == Texts{"boxes/0", "boxes/1", "score"});
  const Batch batch = named_batch(inputs);
  const auto generate = [](Batch given) -> BatchGenerator { co_yield given; };
  for (const NamedTensors& outputs :
       {model->predict_named(inputs, {.verbose = 0}), model->predict_named_on_batch(inputs),
        model->predict_named(generate(batch), {.verbose = 0}),
        model->predict_named(Dataset::from_tensor_slices(batch).batch(3), {.verbose = 0}),
        model->predict_named(Batch{{column(1), column(2), column(3), column(4)}, {}, {}}, {.verbose = 0}),
        model->call_named({{"image", column(1)},
                           {"meta/age", column(2)},
                           {"meta/sizes/0", column(3)},
                           {"meta/sizes/1", column(4)}})}) {
    REQUIRE(outputs.size() == 3);
    CHECK(numbers(outputs.at("boxes/0")) == all(4321));
    CHECK(numbers(outputs.at("boxes/1")) == all(4));
    CHECK(numbers(outputs.at("score")) == all(12));
  }
}

TEST_CASE("losses, weights and metrics match the structure of the outputs; logs have Keras's names", "[nested]") {
  const auto model = nested();
  model->compile(with_losses());
  const Batch batch = named_batch(inputs, targets);
  const auto generate = [](Batch given) -> BatchGenerator { co_yield given; };
  for (const Data& data : {Data(inputs, targets), Data(batch), Data(generate(batch)),
                           Data(Dataset::from_tensor_slices(batch).map([](Batch row) { return row; }).batch(2)),
                           Data(inputs, std::vector<Column>{column(1), column(1), column(1)})}) {
    const Logs logs = model->evaluate(data, {.verbose = 0});
    // Keras has "b1_mae", "b2_mse" and "sc_mae".
    CHECK(names_of(logs) ==
          Texts{"loss", "boxes/b1_loss", "boxes/b2_loss", "score_loss", "boxes/b1_mae", "boxes/b2_mse", "score_mae"});
    CHECK(logs["loss"] == 9331327);
    CHECK(logs["boxes/b1_loss"] == 18662400);
    CHECK(logs["boxes/b2_loss"] == 3);
    CHECK(logs["score_loss"] == 121);
    CHECK(logs["boxes/b1_mae"] == 4320);
    CHECK(logs["boxes/b2_mse"] == 9);
    CHECK(logs["score_mae"] == 11);
  }
  model->compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
  CHECK(model->evaluate(Data(inputs, targets), {.verbose = 0})["loss"] == 18662528);  // of float32
  // A target, and with it a loss, may be missing, as in Keras 2.
  CHECK(model->evaluate(Data(inputs, {{"boxes/1", column(1)}}), {.verbose = 0})["loss"] == 9);
}

TEST_CASE("JSON, clones and files keep nested structures, in the form of Keras", "[nested][saving]") {
  const auto inner = nested("inner");
  inner->compile(with_losses());
  const SymbolicTensor p = layers::input({.shape = {1}, .name = "p"}), q = layers::input({.shape = {1}, .name = "q"});
  const std::vector<SymbolicTensor> called = inner->apply_all({p, q, p, q});
  Functional outer({p, q}, {{"0", called[2]}, {"1/more/0", called[0]}, {"1/more/1", called[1]}});
  const std::string text = to_json<Layer>(outer);
  for (const char* part :
       {R"("input_layers":{"image":["x",0,0],"meta":{"age":["a",0,0],"sizes":[["s",0,0],["t",0,0]]}})",
        R"("output_layers":{"boxes":[["b1",0,0],["b2",0,0]],"score":["sc",0,0]})",
        R"("args":[{"image":{"class_name":"__keras_tensor__")", R"("meta":{"age":{"class_name":"__keras_tensor__")",
        R"("sizes":[{"class_name":"__keras_tensor__")",
        // Keras counts the calls of a model from 1, and reads this form, too.
        R"("output_layers":[["inner",1,2],{"more":[["inner",1,0],["inner",1,1]]}])"})
    CHECK_THAT(text, ContainsSubstring(part));
  std::string with_masks = text;
  const std::string calls = R"("kwargs":{})";
  for (std::size_t at = 0; (at = with_masks.find(calls, at)) != std::string::npos; at += calls.size())
    with_masks.replace(at, calls.size(), R"("kwargs":{"mask":{"image":null,"meta":{"age":null,"sizes":[null,null]}}})");
  REQUIRE(with_masks != text);
  for (const ModelPtr& model : {std::dynamic_pointer_cast<Model>(from_json<Layer>(text)),
                                std::dynamic_pointer_cast<Model>(from_json<Layer>(with_masks)), clone_model(outer)}) {
    REQUIRE(model);
    CHECK(to_json<Layer>(*model) == text);
    const NamedTensors outputs = model->predict_named(Batch{{column(1), column(2)}, {}, {}}, {.verbose = 0});
    CHECK(numbers(outputs.at("0")) == all(6));
    CHECK(numbers(outputs.at("1/more/0")) == all(2121));
    CHECK(numbers(outputs.at("1/more/1")) == all(4));
  }

  const testing::FilesInMemory scope;
  inner->save("m.keras");
  const ModelPtr loaded = load_model("m.keras");
  CHECK(loaded->evaluate(Data(inputs, targets), {.verbose = 0})["boxes/b1_mae"] == 4320);
  CHECK(to_json<Layer>(*loaded) == to_json<Layer>(*inner));
}

TEST_CASE("losses of outputs whose layers have names with a slash are kept in JSON", "[nested][saving]") {
  const SymbolicTensor x = layers::input({.shape = {1}, .name = "x"});
  Functional model({x}, {times(1, "b")->apply(x), times(2, "b/0")->apply(x), times(3, "c")->apply(x)});
  CompileOptions how{.optimizer = optimizers::sgd()};
  how.loss = {{"b", "mse"}, {"b/0", "mae"}, {"c", "mae"}};
  model.compile(how);
  const std::string text = to_json<Layer>(model);
  CHECK_THAT(text, ContainsSubstring(R"("b/0":"mae")"));
  const ModelPtr copy = model_from_json(text);
  copy->set_weights(model.get_weights());
  const Data data(column(2), {{"b", column(0)}, {"b/0", column(0)}, {"c", column(0)}});
  CHECK(model.evaluate(data, {.verbose = 0})["loss"] == 4 + 4 + 6);
  CHECK(copy->evaluate(data, {.verbose = 0})["loss"] == 4 + 4 + 6);
  how.loss = {{"b/900000000", "mse"}};  // not a list of as many
  model.compile(how);
  CHECK_THAT(to_json<Layer>(model), ContainsSubstring(R"("loss":{"b":{"900000000":"mse"}})"));
}

TEST_CASE("keys with a slash, and keys of digits, are not paths", "[nested][saving]") {
  const SymbolicTensor a = layers::input({.shape = {1}, .name = "a"}), b = layers::input({.shape = {1}, .name = "b"});
  const Functional model({{"~20", a}, {"of~1b", b}}, {{"~20", a}, {"~~", b}});
  const std::string text = to_json<Layer>(model);
  CHECK_THAT(text, ContainsSubstring(R"("input_layers":{"0":["a",0,0],"of/b":["b",0,0]})"));
  CHECK_THAT(text, ContainsSubstring(R"("output_layers":{"0":["a",0,0],"~~":["b",0,0]})"));
  const auto again = std::dynamic_pointer_cast<Functional>(from_json<Layer>(text));
  REQUIRE(again);
  CHECK(again->input_names() == model.input_names());
  CHECK(again->output_names() == model.output_names());
}

TEST_CASE("nested structures are in the order of Keras: lists by index, dicts by key", "[nested]") {
  NamedTensors tensors;
  for (const char* path : {"b", "a/10", "a/9", "a-b", "a/2"}) tensors.emplace(path, column(0));
  Texts paths;
  for (const auto& [path, tensor] : tensors) paths.push_back(path);
  CHECK(paths == Texts{"a/2", "a/9", "a/10", "a-b", "b"});
}

namespace {

/// A model of a custom class with nested inputs, whose call returns a nested structure.
class Summed : public Model {
 public:
  std::vector<std::string> input_names() const override { return {"image", "meta/age"}; }
  Value call(Value, bool) override { return {}; }
  Outputs call_with(const std::vector<Value>& x, bool) override {
    return {{"score", x[0] + x[1]}, {"boxes/1", x[1]}, {"boxes/0", x[0]}};
  }
};

}  // namespace

TEST_CASE("a custom class has nested inputs, and returns nested outputs", "[nested]") {
  Summed model;
  const NamedColumns x{{"meta/age", column(2)}, {"image", column(1)}};
  const NamedTensors outputs = model.predict_named(x, {.verbose = 0});
  CHECK(numbers(outputs.at("boxes/0")) == all(1));
  CHECK(numbers(outputs.at("boxes/1")) == all(2));
  CHECK(numbers(outputs.at("score")) == all(3));
  model.compile(with_losses());
  const NamedColumns zeros{{"score", column(0)}, {"boxes/1", column(0)}, {"boxes/0", column(0)}};
  const Logs logs = model.evaluate(Data(x, zeros), {.verbose = 0});
  CHECK(logs["loss"] == 0.5 * 1 + 2 * 2 + 9);
  CHECK(logs["boxes/1_loss"] == 2);  // "boxes/mae_loss" in Keras, whose two "mse" would have one name
  CHECK(logs["boxes/0_mae"] == 1);
}

TEST_CASE("data, losses and names of another structure are errors", "[nested]") {
  const auto model = nested();
  model->compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
  const auto fitted = [&](const NamedColumns& x, const NamedColumns& y) {
    return error_of([&] { model->evaluate(Data(x, y), {.verbose = 0}); });
  };
  NamedColumns shorter = inputs, shallow = inputs;
  shorter.erase("meta/sizes/1");
  shallow.erase("meta/age");
  shallow.emplace("meta", column(2));
  CHECK_THAT(fitted(shorter, targets), ContainsSubstring("no data for input \"meta/sizes/1\""));
  CHECK_THAT(fitted(shallow, targets), ContainsSubstring("no data for input \"meta/age\""));
  CHECK_THAT(fitted(inputs, {{"boxes/2", column(1)}}),
             ContainsSubstring("`y` for output \"boxes/2\" - expected one of: boxes/0, boxes/1, score"));
  const auto compiled = [&](CompileOptions how) {
    how.optimizer = optimizers::sgd({.learning_rate = 0});
    model->compile(how);
    return fitted(inputs, targets);
  };
  CHECK_THAT(compiled({.loss = {{"boxes", "mse"}, {"score", "mse"}}}),
             ContainsSubstring("`loss` for output \"boxes\""));
  CHECK_THAT(compiled({.loss = "mse", .metrics = {{"boxes", {"mae"}}, {"score", {"mse"}}}}),
             ContainsSubstring("`metrics` for output \"boxes\""));

  const SymbolicTensor a = layers::input({.shape = {1}}), b = layers::input({.shape = {1}});
  const auto made = [&](const char* first, const char* second) {
    return error_of([&] { Functional({{first, a}, {second, b}}, {a, b}); });
  };
  CHECK_THAT(made("meta", "meta/age"), ContainsSubstring("\"meta/age\" among the names"));
  CHECK_THAT(made("meta/0", "meta/age"), ContainsSubstring("\"meta/age\" among the names"));
  CHECK_THAT(made("meta/0", "meta/2"), ContainsSubstring("every index of a list from 0 on"));
  CHECK_THAT(made("meta/1/a", "score"), ContainsSubstring("\"meta/1/a\" among the names"));
}

}  // namespace etude
