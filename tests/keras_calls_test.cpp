#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>

#include "console_text.hpp"
#include "etude/etude.hpp"
#include "golden.hpp"

// The calls of layers in models that Keras describes: their arguments, their masks and their numbers.

using namespace etude;
using namespace etude::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// A Functional model of a layer, which Keras calls with these arguments on its input.
std::string call_of(json layer, const json& kwargs, json others = json::array()) {
  const json tensor{{"class_name", "__keras_tensor__"},
                    {"config", {{"shape", {nullptr, 3, 2}}, {"dtype", "float32"}, {"keras_history", {"x", 0, 0}}}}};
  layer["name"] = "layer";
  layer["inbound_nodes"] = {{{"args", {tensor}}, {"kwargs", kwargs}}};
  others.push_back({{"class_name", "InputLayer"}, {"config", {{"batch_shape", {nullptr, 3, 2}}}}, {"name", "x"}});
  others.push_back(layer);
  return json{{"class_name", "Functional"},
              {"config",
               {{"name", "f"}, {"layers", others}, {"input_layers", {"x", 0, 0}}, {"output_layers", {"layer", 0, 0}}}}}
      .dump();
}

}  // namespace

TEST_CASE("outputs count the calls of a Functional model from 1, as Keras 3 does", "[config]") {
  const auto described = [](bool functional) {
    const SymbolicTensor x = layers::input({.shape = {2}});
    const SymbolicTensor a = layers::input({.shape = {2}, .name = "a"}), b = layers::input({.shape = {2}, .name = "b"});
    const LayerPtr dense = layers::dense({.units = 2, .name = "dense"});
    LayerPtr inner = std::make_shared<Sequential>(std::vector<LayerPtr>{layers::input_layer({.shape = {2}}), dense});
    if (functional) inner = std::make_shared<Functional>(SymbolicTensors{x}, SymbolicTensors{dense->apply(x)});
    const SymbolicTensor of_a = inner->apply(a), of_b = inner->apply(b);
    const Functional model({a, b}, {of_a, layers::dense({.units = 1, .name = "last"})->apply(of_b)});
    return std::pair(json::parse(to_json<Layer>(model)), inner->name());
  };
  const auto results = [](const json& description) {
    const ModelPtr model = model_from_json(description.dump());
    std::vector<Tensor> ones;
    for (const Tensor& each : model->get_weights())
      ones.push_back(tensor_of(each.shape(), each.dtype(), std::vector(static_cast<std::size_t>(each.size()), 1.0)));
    model->set_weights(ones);
    const std::vector<Tensor> y =
        model->call_all({tensor_of({1, 2}, DType::float32, {1, 2}), tensor_of({1, 2}, DType::float32, {3, 4})});
    return std::vector{y[0].at(0), y[1].at(0)};
  };
  const std::vector<double> expected{4, 17};
  for (const bool functional : {true, false}) {
    auto [description, inner] = described(functional);
    json& outputs = description["config"]["output_layers"];
    CHECK(outputs == json::array({json::array({inner, functional ? 1 : 0, 0}), json::array({"last", 0, 0})}));
    CHECK(results(description) == expected);
    outputs[0][1] = 0;  // Étude's first descriptions
    CHECK(results(description) == expected);
  }
}

TEST_CASE("a call whose arguments a model cannot keep is an Error that names them", "[config][errors]") {
  const json lstm{{"class_name", "LSTM"}, {"config", {{"units", 2}}}};
  const json dropout{{"class_name", "Dropout"}, {"config", {{"rate", 0.5}}}};
  const auto error = [](const std::string& text) { return error_of([&] { model_from_json(text); }); };
  CHECK(error(call_of(lstm, {{"training", false}, {"mask", nullptr}})) == "no error");
  CHECK_THAT(error(call_of(dropout, {{"training", true}})),
             ContainsSubstring("a call of \"layer\" with the argument training = true"));
  // The default of these layers, which Keras 3.15.1 writes although the caller gave no argument.
  for (const char* const name : {"RandomGrayscale", "Solarization"}) {
    json model = json::parse(call_of({{"class_name", name}, {"config", json::object()}}, {{"training", true}}));
    model["config"]["layers"][0]["config"]["batch_shape"] = {nullptr, 3, 2, 1};
    CHECK(error(model.dump()) == "no error");
  }
  const json mask{{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", {"not_equal", 0, 0}}}}};
  CHECK_THAT(error(call_of(lstm, {{"mask", mask}})), ContainsSubstring("with the argument mask"));
  // Without a layer that creates a mask, it is the caller's.
  const json op{{"module", "keras.src.ops.numpy"},
                {"class_name", "NotEqual"},
                {"config", json::object()},
                {"name", "not_equal"},
                {"inbound_nodes", json::array()}};
  CHECK_THAT(error(call_of(lstm, {{"mask", mask}}, json::array({op}))), ContainsSubstring("with the argument mask"));
}

namespace {

using Between = std::function<SymbolicTensor(SymbolicTensor)>;

/// A decoder of words that starts from states. `between` is called on the embeddings.
ModelPtr decoder(const Between& between = [](SymbolicTensor x) { return x; }, bool both_directions = false) {
  const SymbolicTensor words = layers::input({.shape = {4}, .dtype = "int32", .name = "words"});
  const SymbolicTensor state = layers::input({.shape = {2}, .name = "state"});
  const SymbolicTensor x = between(
      layers::embedding({.input_dim = 5, .output_dim = 3, .mask_zero = true, .name = "embedding"})->apply(words));
  const LayerPtr rnn = layers::gru({.units = 2, .name = "decoder"});
  const SymbolicTensor y =
      both_directions ? layers::bidirectional(rnn)->apply({x, state, state}) : rnn->apply({x, state});
  return std::make_shared<Functional>(SymbolicTensors{words, state}, SymbolicTensors{y});
}

/// The result for words that end early.
std::vector<double> decoded(Model& model) {
  return numbers(
      model.call_all({tensor_of({1, 4}, DType::int32, {1, 2, 0, 0}), tensor_of({1, 2}, DType::float32, {1, -1})})
          .front());
}

/// The last layer that is no op.
json called_layer(const Model& model) {
  const json all = json::parse(to_json<Layer>(model))["config"]["layers"];
  return *std::find_if(all.rbegin(), all.rend(), [](const json& each) { return each["module"] == "keras.layers"; });
}

}  // namespace

TEST_CASE("the mask beside initial states is an argument of the saved call, which Keras 3 needs", "[config]") {
  for (const bool both : {false, true}) {
    const ModelPtr model = decoder([](SymbolicTensor x) { return layers::dropout({.rate = 0.5})->apply(x); }, both);
    const json mask = called_layer(*model)["inbound_nodes"][0]["kwargs"]["mask"]["config"];
    CHECK(mask == json{{"shape", {nullptr, 4}}, {"dtype", "bool"}, {"keras_history", {"embedding_mask", 0, 0}}});
    const json ops = json::parse(to_json<Layer>(*model))["config"]["layers"].back();
    CHECK(ops["class_name"] == "NotEqual");
    CHECK(ops["inbound_nodes"][0]["args"][0]["config"]["keras_history"] == json{"words", 0, 0});
    CHECK(ops["inbound_nodes"][0]["args"][1] == 0);
    const std::string text = to_json<Layer>(*model);
    CHECK(to_json<Layer>(*model_from_json(text)) == text);
  }
  const SymbolicTensor x = layers::input({.shape = {4, 3}, .name = "x"}), state = layers::input({.shape = {2}});
  const Functional masking(
      {x, state},
      {layers::gru({.units = 2})->apply({layers::masking({.mask_value = 0.5, .name = "masking"})->apply(x), state})});
  const json layers = json::parse(to_json<Layer>(masking))["config"]["layers"];
  CHECK(layers.back()["class_name"] == "Any");
  CHECK(layers[layers.size() - 2]["inbound_nodes"][0]["args"][1] == 0.5);
  CHECK(called_layer(masking)["inbound_nodes"][0]["kwargs"]["mask"]["config"]["keras_history"] ==
        json{"masking_mask_", 0, 0});
}

TEST_CASE("a mask beside initial states that is no argument is used by Étude's own files, and not by those of Keras 3",
          "[config]") {
  const ModelPtr of_sum = decoder([](SymbolicTensor x) { return layers::add()->apply({x, x}); });
  CHECK_FALSE(called_layer(*of_sum)["inbound_nodes"][0]["kwargs"].contains("mask"));
  const ModelPtr model = decoder();
  json of_keras = json::parse(to_json<Layer>(*model));
  for (json& layer : of_keras["config"]["layers"])
    if (layer["name"] == "decoder") {
      CHECK(layer["inbound_nodes"][0].erase("etude") == 1);
      CHECK(layer["inbound_nodes"][0]["kwargs"].erase("mask") == 1);
    }
  const auto with_weights_of = [](const Model& from, const std::string& text) {
    const ModelPtr result = model_from_json(text);
    result->set_weights(from.get_weights());
    return result;
  };
  CHECK(decoded(*with_weights_of(*of_sum, to_json<Layer>(*of_sum))) == decoded(*of_sum));
  const ModelPtr unmasked = with_weights_of(*model, of_keras.dump());
  CHECK(decoded(*unmasked) != decoded(*model));
  CHECK(decoded(*with_weights_of(*unmasked, to_json<Layer>(*unmasked))) == decoded(*unmasked));
}

TEST_CASE("calls on initial states of one layer with and without a mask are an Error", "[config][errors]") {
  const ModelPtr model = decoder();
  json both = json::parse(to_json<Layer>(*model));
  for (json& layer : both["config"]["layers"])
    if (layer["name"] == "decoder") {
      json second = layer["inbound_nodes"][0];
      second.erase("etude");
      second["kwargs"].erase("mask");
      layer["inbound_nodes"].push_back(second);
    }
  CHECK_THAT(error_of([&] { model_from_json(both.dump()); }),
             ContainsSubstring("\"decoder\", called on initial states both with and without a mask"));
}

TEST_CASE("a recurrent call whose named arguments are no dict is read by its other arguments", "[config]") {
  json unnamed = json::parse(to_json<Layer>(*decoder()));
  for (json& layer : unnamed["config"]["layers"])
    if (layer["name"] == "decoder") {
      json& node = layer["inbound_nodes"][0];
      node["args"].push_back(node["kwargs"]["initial_state"][0]);
      node["kwargs"] = 3;
    }
  CHECK(error_of([&] { model_from_json(unnamed.dump()); }) == "no error");
}

TEST_CASE("training=False in a call of Keras 2 is a warning where training changes the layer", "[config]") {
  const auto warnings = [](const json& layer) {
    const json x{{"class_name", "InputLayer"},
                 {"config", {{"batch_input_shape", {nullptr, 3}}, {"name", "x"}}},
                 {"name", "x"},
                 {"inbound_nodes", json::array()}};
    json called = layer;
    called["name"] = "called";
    called["config"]["name"] = "called";
    // As tf-keras 2.15.1 writes layer(x, training=False).
    called["inbound_nodes"] = json::array({json::array({json::array({"x", 0, 0, {{"training", false}}})})});
    const json config{{"layers", {x, called}}, {"input_layers", {{"x", 0, 0}}}, {"output_layers", {{"called", 0, 0}}}};
    const ConsoleText console(Console::warnings);
    model_from_json(json{{"class_name", "Functional"}, {"config", config}}.dump());
    return console.text();
  };
  json normalization{{"class_name", "BatchNormalization"}, {"config", json::object()}};
  CHECK(warnings(normalization) ==
        "Warning: [Functional] \"called\" is called with training=False, which has no effect in fit, as in Keras 3. "
        "Set its "
        "trainable to false to keep the statistics of BatchNormalization.\n");
  CHECK_THAT(warnings({{"class_name", "Dropout"}, {"config", {{"rate", 0.5}}}}), ContainsSubstring("training=False"));
  normalization["config"]["trainable"] = false;
  CHECK(warnings(normalization).empty());
  CHECK(warnings({{"class_name", "Dense"}, {"config", {{"units", 2}}}}).empty());
}

TEST_CASE("a mask that a layer creates is left out of a call, and one of the caller's is an Error",
          "[config][errors]") {
  // As Keras 3.15.1 writes LSTM(2)(Embedding(9, 3, mask_zero=True)(x), mask=mask), and the same without a mask.
  const auto tensor = [](const char* name) {
    return json{{"class_name", "__keras_tensor__"}, {"config", {{"keras_history", {name, 0, 0}}}}};
  };
  const auto layer = [](const char* class_name, const char* name, json config, const json& arguments, json named = {}) {
    config["name"] = name;
    const bool is_op = class_name == std::string_view("NotEqual") || class_name == std::string_view("Greater");
    const json node{{"args", arguments}, {"kwargs", named.is_null() ? json::object() : std::move(named)}};
    return json{{"module", is_op ? "keras.src.ops.numpy" : "keras.layers"},
                {"class_name", class_name},
                {"config", std::move(config)},
                {"name", name},
                {"inbound_nodes", json::array({node})}};
  };
  const auto input = [](const char* name) {
    return json{{"class_name", "InputLayer"},
                {"config", {{"batch_shape", {nullptr, 5}}, {"dtype", "int32"}, {"name", name}}},
                {"name", name},
                {"inbound_nodes", json::array()}};
  };
  const auto read = [&](const char* op, const char* of, int number) {
    const json layers{
        input("x"), input("w"),
        layer("Embedding", "e", {{"input_dim", 9}, {"output_dim", 3}, {"mask_zero", true}}, json::array({tensor("x")})),
        layer(op, "mask", json::object(), json::array({tensor(of), number})),
        layer("LSTM", "lstm", {{"units", 2}}, json::array({tensor("e")}), {{"mask", tensor("mask")}})};
    const json config{{"layers", layers},
                      {"input_layers", {{"x", 0, 0}, {"w", 0, 0}}},
                      {"output_layers", {{"lstm", 0, 0}, {"w", 0, 0}}}};
    return error_of([&] { model_from_json(json{{"class_name", "Functional"}, {"config", config}}.dump()); });
  };
  CHECK(read("NotEqual", "x", 0) == "no error");
  for (const std::string& error : {read("Greater", "w", 2), read("NotEqual", "w", 0), read("NotEqual", "x", 1)})
    CHECK_THAT(error, ContainsSubstring("a call of \"lstm\" with the argument mask"));
}
