#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "support.hpp"
#include "training_samples.hpp"

// Ops on SymbolicTensors: operators, and functions of Values by symbolic().
using namespace etude;
using namespace etude::samples;
using Catch::Matchers::ContainsSubstring;
using etude::testing::error_of;
using etude::testing::same_bits;
using nlohmann::json;

namespace {

SymbolicTensor input(const char* name, const Shape& shape = {3}) {
  return layers::input({.shape = shape, .name = name});
}

std::vector<Tensor> outputs_of(Functional& model, const std::vector<Tensor>& x) {
  return model.predict_outputs(Batch{x, {}, {}}, {.verbose = 0});
}

LayerPtr named_dense(const char* name, std::int64_t units = 3) {
  return layers::dense({.units = units, .kernel_initializer = initializers::glorot_uniform({.seed = 7}), .name = name});
}

std::vector<std::string> names_in(const Model& model) {
  std::vector<std::string> names;
  for (const LayerPtr& layer : model.layers()) names.push_back(layer->name());
  return names;
}

}  // namespace

TEST_CASE("symbolic ops: operators compute the same bits as the layers that merge", "[functional][symbolic]") {
  const SymbolicTensor a = input("a"), b = input("b");
  Functional by_ops({a, b}, {a + b, a - b, a * b, -a}),
      by_layers({a, b}, {layers::add()->apply({a, b}), layers::subtract()->apply({a, b}),
                         layers::multiply()->apply({a, b}), layers::rescaling({.scale = -1})->apply(a)});
  for (const std::int64_t rows : {1, 7}) {
    const std::vector<Tensor> x{waves({rows, 3}), waves({rows, 3}, 2)};
    const std::vector<Tensor> got = outputs_of(by_ops, x), want = outputs_of(by_layers, x);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(same_bits(got[i], want[i]));
  }
}

TEST_CASE("symbolic ops: integers are float32 where the number or the result is no integer, as in Keras",
          "[functional][symbolic]") {
  const SymbolicTensor x = layers::input({.shape = {3}, .dtype = "int32"}),
                       bytes = layers::input({.shape = {3}, .dtype = "uint8"});
  Functional model({x, bytes}, {x * 0.5, x + 0.5, x + 2, x / 2, bytes / 255.0, bytes + 300});
  const std::vector<Tensor> y = outputs_of(
      model, {Tensor::from<std::int32_t>({1, 3}, {0, 3, 5}), Tensor::from<std::uint8_t>({1, 3}, {0, 51, 255})});
  using Numbers = std::vector<double>;
  CHECK(numbers(y[0]) == Numbers{0, 1.5, 2.5});
  CHECK(numbers(y[1]) == Numbers{0.5, 3.5, 5.5});
  CHECK(y[2].dtype() == DType::int32);
  CHECK(numbers(y[3]) == Numbers{0, 1.5, 2.5});
  CHECK(numbers(y[4]) == numbers(Tensor::from<float>({1, 3}, {0, 51 / 255.0F, 1})));
  CHECK(numbers(y[5]) == Numbers{300, 351, 555});
}

TEST_CASE("symbolic ops: arguments that JSON cannot hold are an Error when the model is saved",
          "[functional][symbolic]") {
  const SymbolicTensor x = input("x");
  const SymbolicTensor once = x + 1;
  Functional twice({x}, {once.call()->layer->apply(once)});
  CHECK_THAT(error_of([&] { to_json<Layer>(twice); }), ContainsSubstring("called 2 times - expected one call"));
  const Functional bounded({x}, {x + std::numeric_limits<double>::infinity()});
  CHECK_THAT(error_of([&] { to_json<Layer>(bounded); }), ContainsSubstring("the number inf - expected a finite one"));
}

TEST_CASE("symbolic ops: a number may stand on both sides, and a Tensor is a constant that is broadcast",
          "[functional][symbolic]") {
  const SymbolicTensor x = input("x");
  const Tensor constant = Tensor::from<float>({3}, {1, 2, 3});
  Functional model({x}, {x + 1, 1 + x, x - 1, 1 - x, x * 2.0, 2 * x, x / 2, 6.0 / x, x + constant, constant * x});
  const Tensor data = Tensor::from<float>({2, 3}, {1, 2, 3, -1, -2, -3});
  const std::vector<Tensor> y = outputs_of(model, {data});
  using Numbers = std::vector<double>;
  CHECK(numbers(y[0]) == Numbers{2, 3, 4, 0, -1, -2});
  CHECK(numbers(y[1]) == Numbers{2, 3, 4, 0, -1, -2});
  CHECK(numbers(y[2]) == Numbers{0, 1, 2, -2, -3, -4});
  CHECK(numbers(y[3]) == Numbers{0, -1, -2, 2, 3, 4});
  CHECK(numbers(y[4]) == Numbers{2, 4, 6, -2, -4, -6});
  CHECK(numbers(y[5]) == Numbers{2, 4, 6, -2, -4, -6});
  CHECK(numbers(y[6]) == Numbers{0.5, 1, 1.5, -0.5, -1, -1.5});
  CHECK(numbers(y[7]) == Numbers{6, 3, 2, -6, -3, -2});
  CHECK(numbers(y[8]) == Numbers{2, 4, 6, 0, 0, 0});
  CHECK(numbers(y[9]) == Numbers{1, 4, 9, -1, -4, -9});
  CHECK(model.count_params() == 0);
}

TEST_CASE("symbolic ops: a function of Values becomes an op, of several tensors and with several outputs",
          "[functional][symbolic]") {
  const SymbolicTensor a = input("a", {4}), b = input("b", {2});
  const std::vector<SymbolicTensor> halves = symbolic(ops::split, a, 2, -1);
  REQUIRE(halves.size() == 2);
  CHECK(halves[1].shape() == Shape{-1, 2});
  const SymbolicTensor joined =
      symbolic([](const std::vector<Value>& x) { return ops::concatenate(x, -1); }, std::vector{halves[1], b});
  const SymbolicTensor larger = symbolic(ops::maximum, halves[0], b), exponent = symbolic(ops::exp, b);
  Functional model({a, b}, {joined, larger, exponent, symbolic(ops::softmax, a)});
  const Tensor x = Tensor::from<float>({1, 4}, {1, 2, 3, 4}), y = Tensor::from<float>({1, 2}, {0, 5});
  const std::vector<Tensor> result = outputs_of(model, {x, y});
  CHECK(numbers(result[0]) == std::vector<double>{3, 4, 0, 5});
  CHECK(numbers(result[1]) == std::vector<double>{1, 5});
  CHECK(numbers(result[2])[0] == 1);
  CHECK(same_bits(result[3], (*layers::softmax())(x)));
}

TEST_CASE("symbolic ops: shapes are -1 in all axes that depend on the batch", "[functional][symbolic]") {
  const SymbolicTensor x = input("x", {4});
  const auto shape_of = [&](auto function) { return symbolic(function, x).shape(); };
  CHECK(shape_of([](Value v) { return v; }) == Shape{-1, 4});
  CHECK(shape_of([](Value v) { return ops::transpose(v); }) == Shape{4, -1});
  CHECK(shape_of([](Value v) { return ops::matmul(v, ops::transpose(v)); }) == Shape{-1, -1});
  CHECK(shape_of([](Value v) { return ops::sum(v); }) == Shape{});
  CHECK(shape_of([](Value v) { return ops::mean(v, {0}); }) == Shape{4});
  CHECK(symbolic([](Value v) { return ops::argmax(v); }, x).dtype() == DType::int32);
  CHECK((x + symbolic([](Value v) { return ops::max(v); }, x)).shape() == Shape{-1, 4});
}

TEST_CASE("symbolic ops: rows that are divided and put together again have the shape of any batch",
          "[functional][symbolic]") {
  const SymbolicTensor x = input("x", {4});
  const auto reshaped = [](const SymbolicTensor& tensor, const Shape& shape) {
    return symbolic([shape](Value v) { return ops::reshape(v, shape); }, tensor);
  };
  const SymbolicTensor pairs = reshaped(x, {-1, 2});
  CHECK(pairs.shape() == Shape{-1, 2});
  Functional model({x}, {reshaped(named_dense("d", 2)->apply(pairs), {-1, 2, 2})});
  CHECK(outputs_of(model, {waves({7, 4})})[0].shape() == Shape{7, 2, 2});
}

TEST_CASE("symbolic ops: wrong shapes are errors at the call", "[functional][symbolic]") {
  const SymbolicTensor x = input("x", {4}), y = input("y", {3});
  CHECK_THAT(error_of([&] { static_cast<void>(x + y); }),
             ContainsSubstring("[Add]") && ContainsSubstring("[1, 4] and [1, 3]"));
  CHECK_THAT(error_of([&] { static_cast<void>(x * Tensor({3})); }), ContainsSubstring("[1, 4] and [3]"));
  const SymbolicTensor turned = symbolic([](Value v) { return ops::transpose(v); }, x);
  CHECK_THAT(error_of([&] { named_dense("d")->apply(turned); }), ContainsSubstring("[4, -1] - expected [batch, ..]"));
  CHECK_THAT(error_of([&] { Functional({x}, {turned}); }), ContainsSubstring("an output of shape [4, -1]"));
  CHECK_THAT(error_of([&] { Functional({x}, {symbolic([](Value v) { return ops::sum(v); }, x)}); }),
             ContainsSubstring("an output of shape [] - expected [batch, ..]"));
}

TEST_CASE("symbolic ops: gradients flow through them", "[functional][symbolic]") {
  const auto make = [](bool by_ops) {
    const SymbolicTensor x = input("x");
    const SymbolicTensor h = named_dense("first")->apply(x);
    const SymbolicTensor sum = by_ops ? x + h : layers::add()->apply({x, h});
    return Functional({x}, {named_dense("last", 1)->apply(sum)});
  };
  Functional by_ops = make(true), by_layers = make(false);
  const Tensor x = waves({8, 3}), y = signs_of(x);
  const std::vector<double> before = weights_of(by_ops);
  for (Functional* model : {&by_ops, &by_layers}) {
    model->compile(mse());
    model->fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
  }
  CHECK(weights_of(by_ops) != before);
  CHECK(weights_of(by_ops) == weights_of(by_layers));
}

TEST_CASE("symbolic ops: they drop masks, as in a step", "[functional][symbolic]") {
  const SymbolicTensor x = layers::input({.shape = {3}, .dtype = "int32", .name = "x"});
  const SymbolicTensor rows =
      layers::embedding({.input_dim = 5, .output_dim = 2, .embeddings_initializer = "ones", .mask_zero = true})
          ->apply(x);
  const SymbolicTensor factors =
      symbolic([](Value tokens) { return ops::expand_dims(ops::cast(tokens, DType::float32), -1); }, x);
  Functional model({x}, {layers::global_average_pooling1d()->apply(rows * factors)});
  // Keras 3.15.1 on JAX; with the mask the means would be 1.5 and 4.
  const std::vector<double> got =
      numbers(outputs_of(model, {Tensor::from<std::int32_t>({2, 3}, {1, 2, 0, 4, 0, 0})})[0]);
  CHECK(got == std::vector<double>{1, 1, 4.F / 3, 4.F / 3});
}

TEST_CASE("symbolic ops: one without effect drops the mask of its input, too", "[functional][symbolic]") {
  const SymbolicTensor x = layers::input({.shape = {3}, .dtype = "int32", .name = "x"});
  const auto rows = initializers::constant({Tensor::from<double>({5, 1}, {9, 1, 2, 3, 4})});
  const SymbolicTensor masked =
      layers::embedding({.input_dim = 5, .output_dim = 1, .embeddings_initializer = rows, .mask_zero = true})->apply(x);
  const auto pooled = [](const SymbolicTensor& steps) { return layers::global_average_pooling1d()->apply(steps); };
  const SymbolicTensor means = symbolic([](Value v) { return ops::mean(v, {-1}, true); }, masked);
  Functional model({x}, {pooled(means), pooled(masked)});
  // Keras 3.15.1 on JAX.
  const auto got = outputs_of(model, {Tensor::from<std::int32_t>({1, 3}, {1, 2, 0})});
  CHECK(numbers(got[0]) == std::vector<double>{4});
  CHECK(numbers(got[1]) == std::vector<double>{1.5});
}

TEST_CASE("symbolic ops: layers have the names of Keras, and rows in the summary", "[functional][symbolic]") {
  reset_names();
  const SymbolicTensor x = input("x"), y = input("y");
  const Functional model({x, y}, {symbolic(ops::exp, x + y) * 2 - 1 + symbolic([](Value v) { return v; }, x)});
  CHECK(names_in(model) ==
        std::vector<std::string>{"x", "y", "add", "exp", "multiply", "subtract", "operation", "add_1"});
  std::string text;
  model.summary({.print_fn = [&](std::string_view part) { text += part; }});
  CHECK_THAT(text, ContainsSubstring("│ add (Add)             │ (None, 3)    │       0 │ x[0][0], y[0][0]"));
}

TEST_CASE("symbolic ops: a model within another one, and one that starts at an op's result", "[functional][symbolic]") {
  const SymbolicTensor inner_x = input("inner_x");
  const auto inner = std::make_shared<Functional>(std::vector{inner_x}, std::vector{inner_x * 2 + 1});
  const SymbolicTensor x = input("x"), once = inner->apply(x), twice = inner->apply(once) - 3;
  Functional model({x}, {twice}), end({once}, {twice});
  const Tensor ones = filled({2, 3}, 1);
  CHECK(numbers(outputs_of(model, {ones})[0]) == std::vector<double>(6, 4));
  CHECK(numbers(outputs_of(end, {ones})[0]) == std::vector<double>(6, 0));
}

TEST_CASE("symbolic ops: elementwise ops of tensors and numbers are saved in Keras's form", "[functional][symbolic]") {
  const SymbolicTensor x = input("x"), y = input("y");
  Functional model({x, y}, {symbolic(ops::tanh, x + y) * 2, 3.0 - x / 4});
  const std::string text = to_json<Layer>(model);
  const LayerPtr loaded = from_json<Layer>(text);
  CHECK(to_json<Layer>(*loaded) == text);
  const std::vector<Tensor> data{waves({4, 3}), waves({4, 3}, 1)};
  const std::vector<Tensor> got = loaded->call_all(data), want = model.call_all(data);
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(same_bits(got[i], want[i]));
  const json layers = json::parse(text)["config"]["layers"];
  const auto subtract = std::ranges::find_if(layers, [](const json& each) { return each["class_name"] == "Subtract"; });
  REQUIRE(subtract != layers.end());
  CHECK((*subtract)["module"] == "keras.src.ops.numpy");
  CHECK((*subtract)["inbound_nodes"][0]["args"][0] == 3.0);
  CHECK((*subtract)["inbound_nodes"][0]["args"][1]["class_name"] == "__keras_tensor__");
}

TEST_CASE("symbolic ops: a model with ops that Keras wrote is read, and computes Keras's numbers",
          "[functional][symbolic]") {
  // Keras 3.15.1 on JAX: keras.Model([x, y], [exp(x + y) * 2.0 - 1, 3.0 - tanh(x) / 4]).to_json().
  const auto tensor = [](const std::string& layer) {
    return json{{"class_name", "__keras_tensor__"},
                {"config", {{"shape", {nullptr, 2}}, {"dtype", "float32"}, {"keras_history", {layer, 0, 0}}}}};
  };
  const auto op = [](const char* class_name, const char* name, const json& arguments) {
    return json{{"module", "keras.src.ops.numpy"},
                {"class_name", class_name},
                {"config", {{"name", name}}},
                {"registered_name", class_name},
                {"name", name},
                {"inbound_nodes", {{{"args", arguments}, {"kwargs", json::object()}}}}};
  };
  const auto input_layer = [](const char* name) {
    return json{
        {"module", "keras.layers"},
        {"class_name", "InputLayer"},
        {"config",
         {{"batch_shape", {nullptr, 2}}, {"dtype", "float32"}, {"sparse", false}, {"ragged", false}, {"name", name}}},
        {"registered_name", nullptr},
        {"name", name},
        {"inbound_nodes", json::array()}};
  };
  const auto model_of = [&](json layers) {
    return json{{"class_name", "Functional"},
                {"config",
                 {{"name", "ops"},
                  {"layers", std::move(layers)},
                  {"input_layers", {{"x", 0, 0}, {"y", 0, 0}}},
                  {"output_layers", {{"subtract", 0, 0}, {"subtract_1", 0, 0}}}}}}
        .dump();
  };
  const json layers{input_layer("x"),
                    input_layer("y"),
                    op("Add", "add", {tensor("x"), tensor("y")}),
                    op("Exp", "exp", json::array({tensor("add")})),
                    op("Tanh", "tanh", json::array({tensor("x")})),
                    op("Multiply", "multiply", {tensor("exp"), 2.0}),
                    op("TrueDivide", "true_divide", {tensor("tanh"), 4}),
                    op("Subtract", "subtract", {tensor("multiply"), 1}),
                    op("Subtract", "subtract_1", {3.0, tensor("true_divide")})};
  const LayerPtr model = from_json<Layer>(model_of(layers));
  const std::vector<Tensor> got = model->call_all(
      {Tensor::from<float>({2, 2}, {0.5, -1, 0.25, 2}), Tensor::from<float>({2, 2}, {0.5, 1, -0.25, -1})});
  const auto want = [](const std::vector<double>& values) {
    return etude::testing::tensor_of({2, 2}, DType::float32, values);
  };
  CHECK(
      etude::testing::difference(got.at(0), want({4.436563491821289, 1, 1, 4.436563491821289}), {1e-6, 1e-6}).empty());
  CHECK(etude::testing::difference(got.at(1),
                                   want({2.8844707012176514, 3.1903984546661377, 2.938770294189453, 2.758993148803711}),
                                   {1e-6, 1e-6})
            .empty());

  const auto error_with = [&](std::size_t place, const json& layer) {
    json changed = layers;
    changed[place] = layer;
    return error_of([&] { from_json<Layer>(model_of(changed)); });
  };
  CHECK_THAT(error_with(2, op("Bincount", "add", json::array({tensor("x")}))),
             ContainsSubstring("[Bincount \"add\"] an op of Keras that Étude lacks"));
  CHECK_THAT(error_with(2, op("Add", "add", json::array({tensor("x")}))), ContainsSubstring("1 operands"));
  CHECK_THAT(error_with(2, op("Add", "add", {1, 2})), ContainsSubstring("at least one tensor"));
  CHECK_THAT(error_with(2, op("Add", "add", {tensor("x"), "two"})), ContainsSubstring("expected tensors and numbers"));
  json sum = op("Cumsum", "add", json::array({tensor("x")}));
  sum["config"]["dtype"] = "float64";
  CHECK_THAT(error_with(2, sum), ContainsSubstring("the argument dtype = \"float64\"") && ContainsSubstring("Cumsum"));
  CHECK_THAT(error_with(2, op("Add", "add", {tensor("x"), {{"class_name", "Dense"}, {"config", {{"units", 1}}}}})),
             ContainsSubstring("expected tensors, numbers and slices"));
  const json large{{"class_name", "__numpy__"}, {"config", {{"value", {4e9}}, {"dtype", "int64"}}}};
  CHECK_THAT(error_with(2, op("Add", "add", {tensor("x"), large})),
             ContainsSubstring("the number 4e+09 in a constant"));
}

TEST_CASE("symbolic ops: functions of ops:: accept SymbolicTensors, and compute what they compute in a step",
          "[functional][symbolic]") {
  const SymbolicTensor x = input("x", {2, 3}), y = input("y", {2, 3}),
                       i = layers::input({.shape = {2}, .dtype = "int32"});
  const Tensor table = Tensor::from<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  Functional model({x, y, i}, {ops::exp(x), ops::add(x, y), ops::subtract(1, x), ops::matmul(x, table),
                               ops::sum(x, {1}, true), ops::where(ops::less(x, y), x, y), ops::concatenate({x, y}, -1),
                               ops::split(x, 3, -1)[1], ops::transpose(x, {0, 2, 1}), ops::take(table, i),
                               ops::einsum("bij,bkj->bik", x, y), ops::one_hot(i, 3)});
  const auto step = layers::lambda([&](const std::vector<Value>& in) -> Outputs {
    const Value a = in[0], b = in[1], rows = Graph::current().read(Variable("table", table, false));
    return std::vector<Value>{ops::exp(a),
                              ops::add(a, b),
                              1 - a,
                              ops::matmul(a, rows),
                              ops::sum(a, {1}, true),
                              ops::where(ops::less(a, b), a, b),
                              ops::concatenate({a, b}, -1),
                              ops::split(a, 3, -1)[1],
                              ops::transpose(a, {0, 2, 1}),
                              ops::take(rows, in[2]),
                              ops::einsum("bij,bkj->bik", a, b),
                              ops::one_hot(in[2], 3)};
  });
  const std::vector<Tensor> data{waves({4, 2, 3}), waves({4, 2, 3}, 1),
                                 Tensor::from<std::int32_t>({4, 2}, {0, 1, 2, 0, 1, 2, 2, 1})};
  const std::vector<Tensor> got = model.call_all(data), want = step->call_all(data);
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(same_bits(got[k], want[k]));
}

TEST_CASE("symbolic ops: a saved model has Keras's classes and arguments of all ops, and computes the same bits",
          "[functional][symbolic]") {
  const SymbolicTensor x = input("x", {2, 3}), i = layers::input({.shape = {2}, .dtype = "int32", .name = "i"});
  const Tensor row = Tensor::from<float>({3}, {1, 2, 0.5});
  const std::vector<SymbolicTensor> outputs{ops::sum(x, {1}, true),   ops::mean(x, {1, 2}),
                                            ops::reshape(x, {-1, 6}), ops::slice(x, 1, 0, 1),
                                            ops::slice(x, -1, 1, 2),  ops::concatenate({x, x}, -1),
                                            ops::clip(x, 0, 1),       symbolic(ops::split, x, 3, -1)[1],
                                            ops::one_hot(i, 4),       symbolic(ops::softmax, x),
                                            ops::reverse(x, 2),       x * row};
  Functional model({x, i}, outputs);
  const std::string text = to_json<Layer>(model);
  const LayerPtr loaded = from_json<Layer>(text);
  CHECK(to_json<Layer>(*loaded) == text);
  const std::vector<Tensor> data{waves({4, 2, 3}), Tensor::from<std::int32_t>({4, 2}, {0, 1, 2, 3, 0, 1, 2, 3})};
  const std::vector<Tensor> got = loaded->call_all(data), want = model.call_all(data);
  REQUIRE(got.size() == want.size());
  for (std::size_t k = 0; k < want.size(); ++k) CHECK(same_bits(got[k], want[k]));

  const auto form = [](const SymbolicTensor& output) {
    std::vector<SymbolicTensor> inputs;
    for (const SymbolicTensor& each : output.call()->inputs)
      if (std::ranges::find(inputs, each) == inputs.end()) inputs.push_back(each);
    const json all = json::parse(to_json<Layer>(Functional(inputs, {output})))["config"]["layers"];
    json layer = all.back();
    layer["config"].erase("name");
    return json{layer["class_name"], layer["config"], layer["inbound_nodes"][0]["args"].size()}.dump();
  };
  // Keras 3.15.1: keras.ops.sum(x, axis=1, keepdims=True) and the others, in to_json() of their models.
  CHECK(form(outputs[0]) == R"(["Sum",{"axis":1,"keepdims":true},1])");
  CHECK(form(outputs[1]) == R"(["Mean",{"axis":[1,2],"keepdims":false},1])");
  CHECK(form(outputs[2]) == R"(["Reshape",{"newshape":[-1,6]},1])");
  CHECK(form(outputs[3]) == R"(["GetItem",{},2])");
  CHECK(form(outputs[5]) == R"(["Concatenate",{"axis":-1},1])");
  CHECK(form(outputs[6]) == R"(["Clip",{"x_max":1.0,"x_min":0.0},1])");
  CHECK(form(outputs[7]) == R"(["Split",{"axis":-1,"indices_or_sections":3},1])");
  CHECK(form(outputs[8]) == R"(["OneHot",{"axis":-1,"dtype":"float32","num_classes":4,"sparse":false},1])");
  CHECK(form(outputs[9]) == R"(["Softmax",{"axis":-1},1])");
  CHECK(form(outputs[10]) == R"(["Flip",{"axis":2},1])");
}

TEST_CASE("symbolic ops: saving a model with an op that Keras lacks names its layer", "[functional][symbolic]") {
  reset_names();
  const SymbolicTensor x = input("x");
  const auto error = [&](const SymbolicTensor& y) { return error_of([&] { to_json<Layer>(Functional({x}, {y})); }); };
  CHECK(
      error(symbolic([](Value v) { return v * 2.0; }, x)) ==
      "[Operation \"operation\"] an op without a config - expected one that Keras has, of tensors, numbers and lists - "
      "use a layer in its place, or save the model's weights instead, and create the model in code.");
  CHECK_THAT(error(ops::cumsum(x, 1, true)),
             ContainsSubstring("[Cumsum \"cumsum\"] an argument true, which Keras's Cumsum does not have"));
  CHECK_THAT(error(x * Tensor::from<float>({1}, {std::numeric_limits<float>::quiet_NaN()})),
             ContainsSubstring("[Multiply \"multiply\"] the number nan in a constant"));
  CHECK_THAT(error(ops::clip(x, 0, std::numeric_limits<double>::infinity())),
             ContainsSubstring("[Clip \"clip\"] the number inf - expected a finite one"));
}

TEST_CASE("symbolic ops: a layer is called on tensors of as many rows", "[functional][symbolic]") {
  reset_names();
  const SymbolicTensor x = input("x", {4}), pairs = ops::reshape(x, {-1, 2}), halves = input("halves", {2});
  CHECK(error_of([&] { layers::concatenate()->apply({halves, pairs}); }) ==
        "[Concatenate \"concatenate\"] called on tensors of 1 and 2 rows for a batch of 1 - expected as many rows in "
        "each - reshape one of them by an op.");
  CHECK(layers::concatenate()->apply({pairs, pairs}).shape() == Shape{-1, 4});
}

TEST_CASE("symbolic ops: a clone of a model has ops of its own, and layers with new weights",
          "[functional][symbolic]") {
  const SymbolicTensor x = input("x");
  const SymbolicTensor h = named_dense("d")->apply(x);
  Functional model({x}, {symbolic([](Value v) { return v * 2.0; }, h) + Tensor::from<float>({3}, {1, 2, 3})});
  const ModelPtr clone = clone_model(model);
  CHECK(names_in(*clone) == names_in(model));
  clone->set_weights({filled({3, 3}, 1), filled({3}, 1)});
  CHECK(numbers((*clone)(filled({1, 3}, 1))) == std::vector<double>{9, 10, 11});
  CHECK(weights_of(model) != weights_of(*clone));
  for (std::size_t i = 0; i < model.layers().size(); ++i) CHECK(clone->layers()[i] != model.layers()[i]);
}

TEST_CASE("symbolic ops: they compute in the dtypes of their operands, whatever the policy is",
          "[functional][symbolic]") {
  const SymbolicTensor x = layers::input({.shape = {2}, .dtype = "int32", .name = "x"});
  CHECK((x + 1).dtype() == DType::int32);
  CHECK(symbolic(ops::equal, x, 1).dtype() == DType::boolean);
  const SymbolicTensor half = layers::input({.shape = {2}, .dtype = "float16", .name = "half"});
  CHECK((half * 2).dtype() == DType::float16);
  CHECK((half + Tensor::from<float>({2}, {1, 2})).dtype() == DType::float16);
}
