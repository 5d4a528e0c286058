#include <catch2/catch_test_macros.hpp>
#include <map>

#include "etude/etude.hpp"
#include "golden.hpp"

// Models and objects as Keras 3, Keras 2 and TensorFlow.js describe them, and what is written for Keras to read. The
// models are in tests/golden/model_configs.json and op_configs.json (Keras 3.15.1), and keras2_configs.json (tf-keras
// 2.21.0).

using namespace etude;
using namespace etude::testing;
using nlohmann::json;

namespace {

/// The model of a description in a golden file, with the weights there.
ModelPtr model_of(const json& test) {
  const auto model = std::dynamic_pointer_cast<Model>(from_json<Layer>(test.at("config").dump()));
  REQUIRE(model != nullptr);
  CHECK(model->built());
  std::vector<Tensor> weights;
  for (const json& weight : test.at("weights")) weights.push_back(tensor_of_lists(weight));
  model->set_weights(weights);
  return model;
}

void check_models(const char* file, std::size_t count) {
  const json models = golden(file).at("models");
  CHECK(models.size() == count);
  for (const json& test : models) {
    INFO(test.at("config").at("class_name") << ' ' << test.at("config").at("config").at("name"));
    std::vector<Tensor> inputs;
    for (const json& x : test.contains("x") ? json::array({test.at("x")}) : test.at("inputs"))
      inputs.push_back(tensor_of_lists(x));
    const Tensor y = model_of(test)->call_all(inputs).front();
    CHECK(difference(y, tensor_of_lists(test.at("y")), {1e-5, 1e-5}) == "");
  }
}

/// The config of the object of a class and a config.
template <class T> json config_of(const std::string& class_name, const json& config) {
  return json::parse(to_json(*from_json<T>(json{{"class_name", class_name}, {"config", config}}.dump()))).at("config");
}

}  // namespace

TEST_CASE("models that Keras 3 describes are created, with its weights and results", "[config]") {
  check_models("model_configs.json", 6);
}

TEST_CASE("models that Keras 2 describes are created, with its weights and results", "[config]") {
  check_models("keras2_configs.json", 4);
}

TEST_CASE("a layer of a model is written with the module, the registered name and the build_config of Keras 3",
          "[config]") {
  const json models = golden("model_configs.json").at("models");
  for (const json& test : models) {
    const json ours = json::parse(to_json<Layer>(*model_of(test))), &of_keras = test.at("config");
    INFO(of_keras.at("config").at("name"));
    for (const char* key : {"module", "class_name", "registered_name"}) CHECK(ours.at(key) == of_keras.at(key));
    std::map<std::string, json> written;
    for (const json& layer : ours.at("config").at("layers")) written[layer.at("config").at("name")] = layer;
    for (const json& layer : of_keras.at("config").at("layers")) {
      const std::string name = layer.at("config").at("name");
      if (layer.at("module").get<std::string>().starts_with("keras.src.ops.")) continue;  // of a mask
      INFO(name);
      for (const char* key : {"module", "class_name", "registered_name"})
        CHECK(written.at(name).at(key) == layer.at(key));
      // Étude gives each layer of one input a build_config, Keras those with weights.
      if (layer.contains("build_config") && written.at(name).contains("build_config"))
        CHECK(written.at(name)["build_config"] == layer["build_config"]);
      if (layer.at("module") == "keras") continue;  // a model has no such options
      for (const char* key : {"dtype", "kernel_initializer", "bias_initializer", "kernel_regularizer"})
        if (layer.at("config").contains(key) && layer["config"][key].is_object()) {
          CHECK(written.at(name).at("config").at(key).at("module") == layer["config"][key]["module"]);
          CHECK(written.at(name).at("config").at(key).at("class_name") == layer["config"][key]["class_name"]);
        }
    }
  }
}

TEST_CASE("a model that Keras compiled is compiled, and written with its compile_config", "[config]") {
  const json test = golden("model_configs.json").at("models").back();
  const ModelPtr model = model_of(test);
  REQUIRE(model->compiled());
  const json ours = json::parse(to_json<Layer>(*model)).at("compile_config");
  const json& of_keras = test.at("config").at("compile_config");
  for (const char* key : {"module", "class_name", "registered_name"})
    for (const char* part : {"optimizer", "loss"}) CHECK(ours.at(part).at(key) == of_keras.at(part).at(key));
  for (const char* option : {"learning_rate", "momentum", "nesterov", "clipnorm", "use_ema"})
    CHECK(ours["optimizer"]["config"].at(option) == of_keras["optimizer"]["config"].at(option));
  for (const char* key : {"metrics", "loss_weights", "run_eagerly", "steps_per_execution", "jit_compile"})
    CHECK(ours.at(key) == of_keras.at(key));
  CHECK_FALSE(ours.contains("fuse_logits"));  // Keras's compile() would refuse it
  CHECK(to_json<Layer>(*model_from_json(to_json<Layer>(*model))) == to_json<Layer>(*model));
}

TEST_CASE("with several outputs, losses, their weights and metrics are written for each output, as Keras wants them",
          "[config]") {
  const SymbolicTensor x = layers::input({.shape = {3}});
  Functional model(
      {x}, {layers::dense({.units = 1, .name = "a"})->apply(x), layers::dense({.units = 1, .name = "b"})->apply(x)});
  const auto written = [&](CompileOptions options) {
    options.loss = "mse";
    options.metrics = {"mae"};
    model.compile(std::move(options));
    const json text = json::parse(to_json<Layer>(model));
    CHECK(json::parse(to_json<Layer>(*model_from_json(text.dump()))) == text);
    return text.at("compile_config");
  };
  const json listed = written({.loss_weights = {1.0, 0.5}}), named = written({.loss_weights = {{"b", 0.5}}}),
             none = written({});
  CHECK(listed.at("loss_weights") == json{1, 0.5});
  CHECK(listed.at("loss").size() == 2);
  CHECK(listed.at("metrics").size() == 2);
  CHECK(named.at("loss_weights") == json{1, 0.5});
  CHECK(none.at("loss_weights").is_null());
  CHECK_FALSE(none.at("loss").is_array());  // one loss for all
}

TEST_CASE("options of compile() that Keras lacks are in a member that it ignores", "[config]") {
  Sequential model({layers::dense({.units = 2})});
  model.compile({.loss = "mse", .fuse_logits = false});
  const json text = json::parse(to_json<Layer>(model));
  CHECK(text.at("etude") == json{{"fuse_logits", false}});
  CHECK_FALSE(model_from_json(text.dump())->compile_options().fuse_logits);
}

TEST_CASE("a model that is compiled with functions is written without a compile_config", "[config]") {
  Sequential model({layers::dense({.units = 2})});
  model.compile({.loss = losses::from_function([](Value, Value y_pred) { return y_pred; }, "first")});
  const json text = json::parse(to_json<Layer>(model));
  CHECK_FALSE(text.contains("compile_config"));
  CHECK_FALSE(model_from_json(text.dump())->compiled());
}

TEST_CASE("the options of Keras 2 are read under their present names and values", "[config]") {
  // As tf-keras 2.21.0 writes them.
  CHECK(config_of<Layer>("LeakyReLU", {{"alpha", 0.25}})["negative_slope"] == 0.25);
  CHECK(config_of<Layer>("BatchNormalization", {{"axis", {1}}, {"dtype", "float32"}})["axis"] == 1);
  CHECK(config_of<Layer>("Dense", {{"units", 2}, {"batch_input_shape", {nullptr, 3}}})["units"] == 2);
  CHECK(config_of<Layer>("LSTM", {{"units", 2}, {"implementation", 2}, {"time_major", false}})["units"] == 2);
  CHECK(config_of<Loss>("Huber", {{"reduction", "auto"}, {"delta", 2.0}, {"fn", "huber"}})["delta"] == 2.0);
  CHECK(config_of<Metric>("MeanSquaredError", {{"name", "m"}, {"dtype", "float32"}})["name"] == "m");
  CHECK(config_of<Optimizer>("Custom>Adam",
                             {{"learning_rate", 0.5}, {"decay", 0.0}, {"jit_compile", false}})["learning_rate"] == 0.5);
  // And TensorFlow.js 4.22.
  CHECK(config_of<Initializer>("VarianceScaling", {{"scale", 2}, {"distribution", "normal"}})["distribution"] ==
        "truncated_normal");
}

TEST_CASE("the names of functions that Keras writes as objects are read", "[config]") {
  // Keras 3.15.1, of a compile(metrics=[keras.losses.mean_absolute_error]).
  const json function{{"module", "builtins"}, {"class_name", "function"}, {"config", "relu"}, {"registered_name", "x"}};
  CHECK(config_of<Layer>("Dense", {{"units", 2}, {"activation", function}})["activation"] == "relu");
}

TEST_CASE("metrics of confusion matrices are read with the dtypes of integers that Keras writes", "[config]") {
  // Keras 3.15.1 writes int32 with JAX, int64 with TensorFlow.
  for (const char* dtype : {"int32", "int64"})
    for (const char* name : {"IoU", "OneHotIoU"})
      CHECK(config_of<Metric>(name, {{"num_classes", 3}, {"target_class_ids", {0, 2}}, {"dtype", dtype}})
                .value("dtype", json()) == json());
}

TEST_CASE("the metrics in a config are those of all outputs, or of each, of which some have none", "[config]") {
  const auto read = [](const std::string& metrics) {
    const ModelPtr model = model_from_json(
        R"({"class_name":"Sequential","config":[{"class_name":"Dense","config":{"units":2}}],"compile_config":{"loss":)"
        R"("mse","metrics":)" +
        metrics + "}}");
    const MetricChoices& choices = model->compile_options().metrics;
    std::vector<std::size_t> counts;
    for (const MetricList& each : choices.list()) counts.push_back(each.size());
    return counts;
  };
  CHECK(read(R"([null, ["mae"]])") == std::vector<std::size_t>{0, 1});
  CHECK(read(R"([["mae", "mse"], null, "mae"])") == std::vector<std::size_t>{2, 0, 1});
  CHECK(read(R"(["mae", "mse"])").empty());
}

TEST_CASE("a model of TensorFlow.js is read, alone or within its model.json", "[config]") {
  // TensorFlow.js 4.22.0: model.toJSON(), without options that have their default values.
  const std::string topology =
      R"({"class_name":"Model","config":{"name":"f","layers":[{"name":"a","class_name":"InputLayer","config":{)"
      R"("batch_input_shape":[null,4],"dtype":"float32","sparse":false,"name":"a"},"inbound_nodes":[]},{"name":"e",)"
      R"("class_name":"Dense","config":{"units":4,"kernel_initializer":{"class_name":"VarianceScaling","config":{)"
      R"("scale":1,"mode":"fan_avg","distribution":"normal","seed":null}},"name":"e","trainable":true},)"
      R"("inbound_nodes":[[["a",0,0,{}]],[["a",0,0,{}]],[["e",1,0,{}]]]},{"name":"c","class_name":"Concatenate",)"
      R"("config":{"axis":-1,"name":"c","trainable":true},"inbound_nodes":[[["e",0,0,{}],["e",2,0,{}]]]}],)"
      R"("input_layers":[["a",0,0]],"output_layers":[["c",0,0]]},"keras_version":"tfjs-layers 4.22.0"})";
  const ModelPtr model = model_from_json(topology);
  CHECK(model->outputs().front().shape() == Shape{-1, 8});
  CHECK(model->count_params() == 20);
  CHECK_FALSE(model->compiled());
  const ModelPtr trained = model_from_json(
      R"({"modelTopology":)" + topology +
      R"(,"trainingConfig":{"loss":"mean_squared_error","metrics":["accuracy"],"optimizer_config":{"class_name":"Adam",)"
      R"("config":{"learningRate":0.25,"beta1":0.9,"beta2":0.999,"epsilon":1e-7}}}})");
  REQUIRE(trained->compiled());
  CHECK(trained->optimizer().learning_rate() == 0.25);
  const ModelPtr list = model_from_json(
      R"({"class_name":"Sequential","config":[{"class_name":"Dense","config":{"units":2,"batch_input_shape":[null,3]}}]})");
  CHECK(list->count_params() == 8);
}

TEST_CASE("layers with one shared_object_id are one layer", "[config]") {
  // As Keras 3.15.1 writes the config.json of a .keras file.
  const auto dense = [](int id) {
    return json{{"module", "keras.layers"},
                {"class_name", "Dense"},
                {"config", {{"name", "dense"}, {"units", 2}}},
                {"registered_name", nullptr},
                {"shared_object_id", id}};
  };
  const auto inner = [](const char* name, const json& layer) {
    return json{{"class_name", "Sequential"}, {"config", {{"name", name}, {"layers", {layer}}}}};
  };
  const auto count = [&](int first, int second) {
    const json config{{"layers", {inner("a", dense(first)), inner("b", dense(second))}},
                      {"build_input_shape", {nullptr, 2}}};
    return model_from_json(json{{"class_name", "Sequential"}, {"config", config}}.dump())->count_params();
  };
  CHECK(count(7, 7) == 6);
  CHECK(count(7, 8) == 12);
  CHECK(count(7, 7) == 6);  // not the layers of an earlier text
}

TEST_CASE("a frozen layer of a Bidirectional is frozen in both directions", "[config]") {
  const json frozen{{"class_name", "LSTM"}, {"config", {{"units", 2}, {"trainable", false}}}};
  const auto trained = [](const json& layer) {
    const auto both = from_json<Layer>(json{{"class_name", "Bidirectional"}, {"config", {{"layer", layer}}}}.dump());
    (*both)(Tensor({1, 2, 3}, DType::float32));
    CHECK(both->weights().size() > 0);
    return both->trainable_variables().size();
  };
  CHECK(trained(frozen) == 0);
  const json lstm{{"class_name", "LSTMCell"}, {"config", {{"units", 2}, {"trainable", false}}}};
  const json gru{{"class_name", "GRUCell"}, {"config", {{"units", 2}}}};
  const json stacked{{"class_name", "StackedRNNCells"}, {"config", {{"cells", json::array({lstm, gru})}}}};
  CHECK(trained({{"class_name", "RNN"}, {"config", {{"cell", stacked}}}}) == 6);
}

TEST_CASE("decay of an optimizer of Keras 2 is a schedule of its learning rate", "[config]") {
  const json dense{{"class_name", "Dense"}, {"config", {{"units", 1}}}};
  json sgd{{"class_name", "SGD"}, {"config", {{"learning_rate", 0.5}, {"decay", 0.25}, {"momentum", 0.5}}}};
  const auto config = [&] {
    const json model{{"class_name", "Sequential"},
                     {"config", {{"layers", json::array({dense})}}},
                     {"training_config", {{"loss", "mse"}, {"optimizer_config", sgd}}}};
    return json::parse(to_json(model_from_json(model.dump())->optimizer()))["config"];
  };
  const json schedule = config()["learning_rate"];
  CHECK(schedule["class_name"] == "InverseTimeDecay");
  CHECK(schedule["config"]["initial_learning_rate"] == 0.5);
  CHECK(schedule["config"]["decay_steps"] == 1);
  CHECK(schedule["config"]["decay_rate"] == 0.25);
  sgd["config"]["decay"] = 0.0;
  CHECK(config()["learning_rate"] == 0.5);
  // As TensorFlow.js 4.22.0 writes it.
  sgd = {{"class_name", "Adamax"}, {"config", {{"learningRate", 0.25}, {"beta1", 0.5}, {"beta2", 0.75}, {"decay", 2}}}};
  CHECK(config()["learning_rate"]["config"]["decay_rate"] == 2.0);
}

TEST_CASE("ops that Keras 3 describes give its numbers, and are described as Keras does", "[config][symbolic]") {
  const json test = golden("op_configs.json");
  const json& config = test.at("config");
  const auto model = std::dynamic_pointer_cast<Model>(from_json<Layer>(config.dump()));
  REQUIRE(model != nullptr);
  std::vector<Tensor> x;
  for (const json& input : test.at("inputs")) x.push_back(tensor_of_lists(input));
  const std::vector<Tensor> y = model->call_all(x);
  const json &outputs = test.at("outputs"), &names = config.at("config").at("output_layers");
  REQUIRE(y.size() == outputs.size());
  CHECK(y.size() == 130);
  for (std::size_t i = 0; i < y.size(); ++i) {
    INFO(names.at(i));
    const json& want = outputs.at(i);
    REQUIRE(y[i].shape() == shape_in(want.at("shape")));
    CHECK(name_of(y[i].dtype()) == want.at("dtype").get<std::string>());
    CHECK(difference(y[i], tensor_of(y[i].shape(), y[i].dtype(), numbers_in(want.at("value"))), {1e-5, 1e-5}) == "");
  }
  std::map<std::string, json> written;
  const json again = json::parse(to_json<Layer>(*model));
  for (const json& layer : again.at("config").at("layers")) written[layer.at("name")] = layer;
  for (const json& layer : config.at("config").at("layers"))
    if (layer.at("module").get<std::string>().starts_with("keras.src.ops.")) CHECK(written[layer.at("name")] == layer);
}
