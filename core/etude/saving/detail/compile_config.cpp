/// The arguments of compile() as JSON.
#include <algorithm>
#include <array>
#include <string_view>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/keras2_activation.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/shared_objects.hpp"

namespace etude {
namespace {

/// The arguments that Keras lacks. It ignores the member "etude" of an object.
constexpr std::array extras{"fuse_logits", "check_trace"};

/// The names of metrics that differ from those of their functions.
constexpr std::array<std::string_view, 6> names{"accuracy", "acc", "mae", "mse", "mape", "msle"};

/// Without null, which is Keras 2's form of a default.
Json without_nulls(const Json& config) {
  Json result = Json::object();
  for (const auto& [name, value] : config.items())
    if (!value.is_null()) result[name] = value;
  return result;
}

/// A config in which the objects by which Keras 2 wraps functions are the names that compile() got.
Json unwrapped(const Json& config) {
  if (!config.is_structured()) return config;
  const std::string kind = text_in(config, "class_name");
  if (const auto inner = config.find("config"); kind == "MeanMetricWrapper" || kind == "LossFunctionWrapper") {
    const std::string name = inner == config.end() ? "" : text_in(*inner, "name");
    if (std::ranges::find(names, name) != names.end()) return name;
    return inner == config.end() ? "" : text_in(*inner, "fn");
  }
  Json result = config;
  for (Json& each : result) each = unwrapped(each);
  return result;
}

/// Nadam of Keras before 2.11 lets beta_1 grow by another schedule, whose option becomes none.
void take_older_schedule(Json& optimizer) {
  if (text_in(optimizer, "class_name") != "Nadam" || !optimizer.contains("config")) return;
  Json& config = optimizer["config"];
  bool is_older = false;
  for (const char* name : {"decay", "schedule_decay"}) is_older |= config.is_object() && config.erase(name) != 0;
  if (is_older)
    print_warning({}, spelled("[load_model] the optimizer Nadam of Keras before 2.11, whose momentum grows by another "
                              "schedule than that of Keras 3, which it has here."));
}

/// Optimizers and losses of TensorFlow.js that have other names here.
void take_tfjs_names(Json& config) {
  if (text_in(config, "loss") == "cosine_proximity") config["loss"] = "cosine_similarity";
  Json& optimizer = config["optimizer"];
  const std::string kind = text_in(optimizer, "class_name");
  if (!optimizer.is_object() || !optimizer.contains("config") || !optimizer["config"].is_object()) return;
  const auto rename = [&](const char* before, const char* now) {
    Json& options = optimizer["config"];
    if (!options.contains(before)) return;
    options[now] = Json(options[before]);
    options.erase(before);
  };
  if (kind == "RMSProp") {
    optimizer["class_name"] = "RMSprop";
    rename("decay", "rho");
  } else if (kind == "Momentum") {
    optimizer["class_name"] = "SGD";
    rename("useNesterov", "nesterov");
  } else if (kind == "Adagrad") {
    rename("initialAccumulatorValue", "initial_accumulator_value");
  }
}

/// Optimizers of Keras before 2.11, and Adamax of TensorFlow.js, divide the learning rate by 1 + decay · step, which is
/// a schedule.
void take_decay(Json& optimizer) {
  if (!optimizer.is_object() || !optimizer.contains("config") || !optimizer["config"].is_object()) return;
  Json& config = optimizer["config"];
  const char* name = config.contains("lr") ? "lr" : config.contains("learningRate") ? "learningRate" : "learning_rate";
  const auto decay = config.find("decay"), rate = config.find(name);
  if (decay == config.end() || !decay->is_number() || *decay == 0) return;
  if (rate == config.end() || !rate->is_number()) return;
  const Json of_schedule = {{"initial_learning_rate", *rate}, {"decay_steps", 1}, {"decay_rate", *decay}};
  config[name] = {{"class_name", "InverseTimeDecay"}, {"config", of_schedule}};
  config.erase("decay");
}

/// The compile_config of a text; null if there is none.
Json compile_config_in(const Json& json) {
  if (const auto found = json.find("compile_config"); found != json.end() && found->is_object() && !found->empty()) {
    Json config = without_nulls(*found);
    if (const auto optimizer = config.find("optimizer"); optimizer != config.end()) {
      take_older_schedule(*optimizer);
      take_decay(*optimizer);
    }
    if (const auto added = json.find("etude"); added != json.end() && added->is_object()) config.update(*added);
    return config;
  }
  const auto found = json.find("training_config");
  if (found == json.end() || !found->is_object()) return nullptr;
  Json config = without_nulls(unwrapped(*found));
  if (const auto optimizer = config.find("optimizer_config"); optimizer != config.end()) {
    config["optimizer"] = Json(*optimizer);
    take_older_schedule(config["optimizer"]);
    take_tfjs_names(config);
    take_decay(config["optimizer"]);
    config.erase("optimizer_config");
  }
  return config;
}

/// With several outputs Keras wants metrics for each of them, and a weight for each loss in the same form as the
/// losses. In Étude one list of metrics, one loss or one weight is that of all outputs, and a weight that is not named
/// is 1.
void name_each_output(const Model& model, Json& config) {
  const CompileOptions& options = model.compile_options();
  const std::vector<std::string> outputs = model.output_names();
  if (outputs.size() < 2) return;
  if (options.metrics.one()) config["metrics"] = Json::array_t(outputs.size(), config["metrics"]);
  if (options.weighted_metrics.one())
    config["weighted_metrics"] = Json::array_t(outputs.size(), config["weighted_metrics"]);
  const bool is_one = options.loss.one() && options.loss_weights.one();
  if (options.loss.empty() || options.loss_weights.empty() || is_one) return;
  Json& loss = config["loss"];
  if (options.loss.one()) loss = Json(Json::array_t(outputs.size(), loss));
  const auto weights = options.loss_weights.resolve(outputs, "loss_weights");
  Json paired = loss.is_object() ? Json::object() : Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (paired.is_array())
      paired.push_back(weights[i].value_or(1));
    else if (loss.contains(outputs[i]))
      paired[outputs[i]] = weights[i].value_or(1);
  }
  if (paired.size() == loss.size()) config["loss_weights"] = std::move(paired);  // unless names are paths
}

}  // namespace

Json compile_to_json(const Model& model) {
  if (!model.compiled()) return nullptr;
  Json json = options_to_json("compile", model.compile_options());
  json["optimizer"] = object_to_json<Optimizer>(model.optimizer());
  return json;
}

void compile_from_json(Model& model, const Json& json) {
  check(json.is_object(), ErrorKind::data, "compile", JsonExcerpt{json},
        " - expected an object of compile's options - check the text.");
  model.compile(options_from_json<CompileOptions>("compile", json));
}

Json compiled_to_json(const Model& model) {
  Json json = model_to_json(model);
  if (!model.compiled()) return json;
  try {
    Json config = compile_to_json(model);
    name_each_output(model, config);
    const Json defaults = options_to_json("compile", CompileOptions());
    for (const char* name : extras) {
      if (config[name] != defaults[name]) json["etude"][name] = config[name];
      config.erase(name);
    }
    json["compile_config"] = std::move(config);
  } catch (const Error&) {  // functions have no config
    json.erase("etude");
  }
  return json;
}

ModelPtr compiled_from_json(const Json& json) {
  for (const char* within : {"modelTopology", "model_config"})
    if (json.is_object() && !json.contains("class_name") && json.contains(within)) {
      Json inner = json[within];
      for (const char* name : {"training_config", "trainingConfig"})
        if (json.contains(name) && inner.is_object()) inner["training_config"] = json[name];
      return compiled_from_json(inner);
    }
  check(describes_model(json), ErrorKind::value, "model_from_json", "class \"", class_name_in(json),
        "\" - expected Sequential or Functional", " - make layers by from_json<Layer>().");
  Json config = json;
  rename_activations(config, text_in(json, "keras_version"));
  const SharedObjects shared;
  ModelPtr model = model_from_json(config);
  compile_as_described(*model, config);
  return model;
}

void compile_as_described(Model& model, const Json& json) {
  const Json config = compile_config_in(json);
  if (config.is_null()) return;
  compile_from_json(model, config);
}

}  // namespace etude
