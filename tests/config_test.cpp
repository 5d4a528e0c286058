#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "config_samples.hpp"
#include "etude/etude.hpp"
#include "etude/ops/elementwise.hpp"
#include "support.hpp"
#include "training_samples.hpp"

using namespace etude;
using nlohmann::json;
using samples::needed;
using testing::error_of;

namespace {

template <class T> void check_each_class() {
  for (const std::string& class_name : class_names<T>()) {
    CAPTURE(class_name);
    const json given = needed(class_name);
    const std::string text = to_json(*from_json<T>(json{{"class_name", class_name}, {"config", given}}.dump()));
    const json config = json::parse(text)["config"];
    CHECK(class_table<T>().of_class(json::parse(text)["class_name"].get<std::string>()).class_name == class_name);
    json options = class_name == "MultiOptimizer" ? config["optimizer_map"]["config"] : config;
    for (const auto& [name, value] : given.items()) CHECK((options[name] == value || options[name].is_structured()));
    CHECK(to_json(*from_json<T>(text)) == text);
  }
}

std::string layer_error(const std::string& text) {
  return error_of([&] { from_json<Layer>(text); });
}

/// The predictions of a model, and of the model from its config with the same weights.
bool predicts_alike(Model& model, const Tensor& x) {
  const auto twin = std::dynamic_pointer_cast<Model>(from_json<Layer>(to_json<Layer>(model)));
  twin->set_weights(model.get_weights());
  return testing::same_bits(twin->predict(x, {.verbose = 0}), model.predict(x, {.verbose = 0}));
}

}  // namespace

TEST_CASE("for every class, the object from a config has that config", "[config]") {
  check_each_class<Layer>();
  check_each_class<Loss>();
  check_each_class<Metric>();
  check_each_class<Optimizer>();
  check_each_class<LearningRateSchedule>();
  check_each_class<Initializer>();
  check_each_class<Regularizer>();
  check_each_class<Constraint>();
}

TEST_CASE("a config has the fields of Keras, and its form of objects within it", "[config]") {
  const LayerPtr dense = layers::dense({.units = 3,
                                        .activation = "relu",
                                        .kernel_initializer = initializers::he_normal({.seed = 1}),
                                        .kernel_regularizer = regularizers::l2({.l2 = 0.5}),
                                        .name = "first"});
  CHECK(
      to_json(*dense) ==
      R"({"module":"keras.layers","class_name":"Dense","config":{"units":3,"activation":"relu","use_bias":true,)"
      R"("kernel_initializer":{"module":"keras.initializers","class_name":"HeNormal","config":{"seed":1},"registered_name":null},)"
      R"("bias_initializer":{"module":"keras.initializers","class_name":"Zeros","config":{},"registered_name":null},)"
      R"("kernel_regularizer":{"module":"keras.regularizers","class_name":"L2","config":{"l2":0.5},"registered_name":null},)"
      R"("bias_regularizer":null,"activity_regularizer":null,"kernel_constraint":null,"bias_constraint":null,"name":"first",)"
      R"("dtype":{"module":"keras","class_name":"DTypePolicy","config":{"name":"float32"},"registered_name":null},)"
      R"("trainable":true},"registered_name":null})");
  const OptimizerPtr adam =
      optimizers::adam({.learning_rate = schedules::exponential_decay(
                            {.initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.5})});
  CHECK(json::parse(to_json(*adam))["config"]["learning_rate"]["class_name"] == "ExponentialDecay");
}

TEST_CASE("a config has the current options of an object, not those at its construction", "[config]") {
  const LayerPtr layer = layers::dense({.units = 3});
  layer->set_trainable(false);
  CHECK(json::parse(to_json(*layer))["config"]["trainable"] == false);
  CHECK(json::parse(to_json(*layer))["config"]["name"] == layer->name());
  const OptimizerPtr sgd = optimizers::sgd({.learning_rate = 0.5});
  sgd->set_learning_rate(0.25);
  CHECK(json::parse(to_json(*sgd))["config"]["learning_rate"] == 0.25);
}

TEST_CASE("fields are optional, and Keras's fields that Etude lacks may be null", "[config]") {
  const LayerPtr layer = from_json<Layer>(
      R"({"class_name": "Dense", "config": {"units": 4, "lora_rank": null, "bias_constraint": null}})");
  const json config = json::parse(to_json(*layer))["config"];
  CHECK(config["activation"] == "linear");
  CHECK(config["kernel_initializer"]["class_name"] == "GlorotUniform");
  CHECK(layer_error(R"({"class_name": "Flatten"})") == "no error");
}

TEST_CASE("the numbers of a Rescaling are one, a list, or an array of Keras", "[config]") {
  const auto config = [](const std::string& members) {
    return json::parse(to_json(
        *from_json<Layer>(R"({"class_name": "Rescaling", "config": {"scale": [0.5, 2.0])" + members + "}}")))["config"];
  };
  CHECK(config("")["scale"] == json{0.5, 2.0});
  CHECK(config("")["offset"] == 0.0);
  CHECK(config(R"(, "offset": [[1], [3]])")["offset"] == json{{1.0}, {3.0}});
  // Keras 3.15.1, of a NumPy array.
  CHECK(config(R"(, "offset": {"module": "keras", "class_name": "__numpy__", "config": {"value": [1.5, -1.0], "dtype":)"
               R"( "float32"}, "registered_name": null})")["offset"] == json{1.5, -1.0});
}

TEST_CASE("a config has the dtype of a loss or metric if it is set, and takes a policy in its place", "[config]") {
  CHECK_FALSE(json::parse(to_json(*losses::huber()))["config"].contains("dtype"));
  CHECK(json::parse(to_json(*metrics::auc({.dtype = "float16"})))["config"]["dtype"] == "float16");
  const MetricPtr metric = from_json<Metric>(
      R"({"class_name": "Mean", "config": {"dtype": {"class_name": "DTypePolicy", "config": {"name": "float64"}}}})");
  CHECK(metric->dtype() == DType::float64);
  CHECK(from_json<Loss>(R"({"class_name": "Huber", "config": {"dtype": null}})")->dtype() == std::nullopt);
  CHECK(from_json<Loss>(R"({"class_name": "Huber", "config": {"dtype": "float64"}})")->dtype() == DType::float64);
}

TEST_CASE("options of Keras that have no effect here are accepted", "[config]") {
  CHECK_FALSE(layers::dropout({.rate = 0.5, .trainable = false})->trainable());
  const LayerPtr attention = from_json<Layer>(
      R"({"class_name": "MultiHeadAttention", "config": {"num_heads": 2, "key_dim": 3, "flash_attention": null}})");
  CHECK(json::parse(to_json(*attention))["config"]["flash_attention"] == false);
  CHECK(optimizers::loss_scale_optimizer({.inner_optimizer = "sgd", .name = "scaled"})->scales_loss());
}

TEST_CASE("a config makes the classes of the table and no others", "[config]") {
  CHECK(layer_error(R"({"class_name": "Lambda", "config": {"function": "os.system"}})")
            .starts_with("[layer] class \"Lambda\" - expected one of: Activation, ActivityRegularization, "));
  CHECK(layer_error(R"({"class_name": "Adam"})").starts_with("[layer] class \"Adam\" - expected one of: "));
  CHECK(error_of([] {
          from_json<Optimizer>(R"({"class_name": "Dense", "config": {"units": 1}})");
        }).starts_with("[optimizer] class \"Dense\" - expected one of: Adadelta, "));
}

TEST_CASE("an invalid config is an Error that names the class, the field and the value", "[config]") {
  const auto dense = [](const std::string& config) {
    return layer_error(R"({"class_name": "Dense", "config": )" + config + "}");
  };
  CHECK(dense(R"({"units": "many"})") == "[Dense] units = \"many\" - expected a whole number - set units.");
  CHECK(dense(R"({"units": 1.5})") == "[Dense] units = 1.5 - expected a whole number - set units.");
  CHECK(dense(R"({"units": 1e30})") == "[Dense] units = 1e+30 - expected a whole number - set units.");
  CHECK(dense(R"({"units": 3, "use_bias": 1})") == "[Dense] use_bias = 1 - expected true or false - set use_bias.");
  CHECK(dense(R"({"units": 3, "name": 4})") == "[Dense] name = 4 - expected a string - set name.");
  CHECK(dense(R"({"units": 3, "kernel_initializer": 4})") ==
        "[Dense] kernel_initializer = 4 - expected a name, or a class and its config - set kernel_initializer.");
  CHECK(dense(R"({"units": 3, "lora_rank": 4})")
            .starts_with("[Dense] config field \"lora_rank\" - expected one of: units, activation, "));
  CHECK(dense(R"({"units": 0})").find("expected a positive number") != std::string::npos);
  CHECK(dense("[]").starts_with("[Dense] a config that is not an object: [] - expected "));
  CHECK(
      layer_error(R"({"class": "Dense"})").starts_with("[config] {\"class\":\"Dense\"} - expected {\"class_name\": "));
  CHECK(layer_error("{\"class_name\": ").find("is not valid JSON") != std::string::npos);
  CHECK(layer_error(R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 1, "kernel_size": [1, 2, 3]}})") ==
        "[Conv2D \"c\"] kernel_size = [1, 2, 3] - expected one number for all axes, or one for each of 2 - set "
        "kernel_size.");
}

TEST_CASE("custom functions and classes have no config, and the Error has advice", "[config]") {
  const auto twice = [](Value x) { return x * 2; };
  CHECK(error_of([&] { to_json(*layers::dense({.units = 3, .activation = Activation(twice)})); }) ==
        "[Dense] activation is a function - expected a named activation, because code is not saved - pass a "
        "name.");
  struct Doubling : Layer {
    Doubling() : Layer("Doubling") {}
    Value call(Value x, bool) override { return x * 2; }
  };
  CHECK(error_of([] { to_json<Layer>(Doubling()); }) ==
        "[layer] \"doubling\" of a class (Doubling) that is not one of Étude's - expected one that can be created from "
        "its options - declare `about` and Options and call register_class first, or save only the model's weights.");
  CHECK(error_of([] {
          to_json<Loss>(*losses::from_function([](Value y_true, Value) { return y_true; }, "between"));
        }).starts_with("[loss] \"between\" of a class that is not one of Étude's - expected "));
}

TEST_CASE("the config of a Sequential model makes one that predicts the same with its weights", "[config]") {
  Sequential model({layers::conv2d({.filters = 3, .kernel_size = 2, .activation = "relu"}),
                    layers::max_pooling2d({.pool_size = 2}), layers::flatten(), layers::batch_normalization(),
                    layers::dense({.units = 2, .activation = "softmax"})});
  const Tensor x = samples::waves({5, 5, 5, 1});
  model.predict(x, {.verbose = 0});
  CHECK(predicts_alike(model, x));
}

TEST_CASE("the config of a Functional model keeps shared, merged and nested layers", "[config]") {
  const auto shared = layers::dense({.units = 3, .activation = "tanh"});
  const SymbolicTensor a = layers::input({.shape = {4}, .name = "a"});
  const SymbolicTensor once = shared->apply(a), twice = layers::dense({.units = 4})->apply(once);
  const auto inner = std::make_shared<Sequential>(std::vector<LayerPtr>{layers::dense({.units = 2})});
  const SymbolicTensor joined = layers::concatenate()->apply({once, shared->apply(twice)});
  Functional model({a}, {layers::add()->apply({inner->apply(joined), layers::dense({.units = 2})->apply(once)})});
  CHECK(predicts_alike(model, samples::waves({6, 4})));

  const auto twin = std::dynamic_pointer_cast<Functional>(from_json<Layer>(to_json<Layer>(model)));
  REQUIRE(twin);
  CHECK(twin->count_params() == model.count_params());
  CHECK(twin->layers().size() == model.layers().size());
  CHECK(to_json<Layer>(*twin) == to_json<Layer>(model));
}

TEST_CASE("an impossible graph in a Functional config is an Error", "[config]") {
  const SymbolicTensor x = layers::input({.shape = {4}, .name = "x"});
  const SymbolicTensor y = layers::dense({.units = 3, .name = "one"})->apply(x);
  const json good =
      json::parse(to_json<Layer>(Functional({x}, {layers::dense({.units = 2, .name = "two"})->apply(y)})));
  const auto error_with = [&](auto change) {
    json config = good;
    change(config["config"]);
    return layer_error(config.dump());
  };
  const auto history = [](json& config, std::size_t layer) -> json& {
    return config["layers"][layer]["inbound_nodes"][0]["args"][0]["config"]["keras_history"];
  };
  CHECK(error_with([](json&) {}) == "no error");
  CHECK(error_with([&](json& config) { history(config, 1) = {"two", 0, 0}; }).find("expected a graph without loops") !=
        std::string::npos);
  CHECK(error_with([&](json& config) {
          history(config, 2) = {"gone", 0, 0};
        }).find("called on a tensor that no layer returns") != std::string::npos);
  CHECK(error_with([&](json& config) {
          history(config, 2) = {"one", 0, 1};
        }).find("called on a tensor that no layer returns") != std::string::npos);
  CHECK(error_with([&](json& config) { history(config, 2) = "one"; }).find("keras_history") != std::string::npos);
  CHECK(error_with([](json& config) { config["output_layers"] = {{"gone", 0, 0}}; }).find("returned by no layer") !=
        std::string::npos);
  CHECK(error_with([](json& config) {
          config["layers"][1]["inbound_nodes"][0]["kwargs"] = {{"mask", nullptr}, {"use_causal_mask", true}};
        }).find("a call of \"one\" with the argument use_causal_mask = true") != std::string::npos);
  CHECK(error_with([](json& config) { config.erase("layers"); }).find("without the array \"layers\"") !=
        std::string::npos);
}
