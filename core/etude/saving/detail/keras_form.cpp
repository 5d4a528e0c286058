#include "etude/saving/detail/keras_form.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace etude {
namespace {

/// The classes that Keras exports under another name.
constexpr std::pair<std::string_view, const char*> keras_names[] = {{"GroupedQueryAttention", "GroupQueryAttention"}};

Json object_json(Json module, std::string_view class_name, Json config, Json registered_name) {
  Json json = Json::object();
  add_member(json, "module", std::move(module));
  add_member(json, "class_name", class_name);
  add_member(json, "config", std::move(config));
  add_member(json, "registered_name", std::move(registered_name));
  return json;
}

// An empty class in a row is any class.

/// The name of an option in earlier versions.
struct Renamed {
  std::string_view class_name, before;
  const char* now;
};
constexpr Renamed renamed[] = {{"LeakyReLU", "alpha", "negative_slope"},
                               {"", "lr", "learning_rate"},
                               {"", "learningRate", "learning_rate"},  // optimizers of TensorFlow.js
                               {"", "beta1", "beta_1"},
                               {"", "beta2", "beta_2"}};

/// A field that is ignored with this value, a text in JSON, or with any if that is empty.
struct Ignored {
  std::string_view class_name, field, value;
};
constexpr Ignored ignored[] = {{"", "dtype", ""},
                               {"", "name", ""},
                               {"", "fn", ""},
                               {"", "batch_input_shape", ""},
                               {"", "input_length", ""},
                               {"", "jit_compile", ""},
                               {"", "is_legacy_optimizer", ""},
                               {"", "decay", "0.0"},
                               {"", "time_major", "false"},
                               {"", "implementation", ""},
                               {"", "rng_type", ""},
                               {"", "groups", "1"},
                               {"", "vocabulary_size", ""},
                               {"", "query_shape", ""},
                               {"", "key_shape", ""},
                               {"", "value_shape", ""},
                               {"", "softmax_robust_masking", "false"},
                               {"SeparableConv1D SeparableConv2D", "kernel_initializer", ""},
                               {"SeparableConv1D SeparableConv2D", "kernel_regularizer", ""},
                               {"SeparableConv1D SeparableConv2D", "kernel_constraint", ""},
                               {"LossScaleOptimizer", "learning_rate", ""},
                               {"LossScaleOptimizer", "use_ema", "false"},
                               {"LossScaleOptimizer", "ema_momentum", ""}};

/// A value, a text in JSON, that has another name now; null for one that stands for the default.
struct Reread {
  std::string_view class_name, field, before;
  const char* now;
};
constexpr std::string_view of_integers =
    "StringLookup IntegerLookup Discretization Hashing TextVectorization HashedCrossing";
constexpr std::string_view of_confusion = "BinaryIoU IoU MeanIoU OneHotIoU OneHotMeanIoU";
constexpr Reread reread[] = {{"VarianceScaling", "distribution", "\"normal\"", "truncated_normal"},
                             {"", "reduction", "\"auto\"", nullptr},
                             {"", "name", "null", nullptr},
                             {"", "dtype", "null", nullptr},
                             {"", "data_format", "null", nullptr},
                             {"", "flash_attention", "null", nullptr},
                             {of_integers, "dtype", "\"int64\"", nullptr},
                             {of_confusion, "dtype", "\"int32\"", nullptr},  // with JAX
                             {of_confusion, "dtype", "\"int64\"", nullptr},
                             {of_integers, "dtype", "\"string\"", nullptr}};

bool is_of(std::string_view row, std::string_view class_name) {
  return row.empty() || row.find(class_name) != row.npos;
}

/// A member of the config of an object of that class of Keras; null if it is none.
const Json* member_of(const Json& json, const char* class_name, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find("class_name");
  const auto config = json.find("config");
  if (found == json.end() || *found != class_name || config == json.end() || !config->is_object()) return nullptr;
  const auto member = config->find(name);
  return member == config->end() ? nullptr : &*member;
}

/// Whether a field that is no option of the class can be ignored.
bool without_effect(std::string_view class_name, std::string_view field, const Json& value) {
  return std::ranges::any_of(ignored, [&](const Ignored& row) {
    return row.field == field && is_of(row.class_name, class_name) &&
           (row.value.empty() || value == parse_json(row.value, "value"));
  });
}

/// The value of an option; none for the default.
std::optional<Json> present_value(std::string_view class_name, const Field& field, const Json& value) {
  for (const auto& [of_class, member] : {std::pair("DTypePolicy", "name"),
                                         {"Policy", "name"},
                                         {"__tensor__", "value"},
                                         {"__numpy__", "value"},
                                         {"OptimizerMap", "optimizer_map"}})
    if (const Json* found = member_of(value, of_class, member)) return present_value(class_name, field, *found);
  for (const Reread& row : reread)
    if (row.field == field.name && is_of(row.class_name, class_name) && json_text(value) == row.before)
      return row.now ? std::optional<Json>(row.now) : std::nullopt;
  // Keras writes the factor f of these layers as [-f, f], and describes it as [0, f].
  if (is_of("RandomSaturation RandomColorDegeneration", class_name) && std::string_view(field.name) == "factor" &&
      value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number() &&
      value[0].get<double>() == -value[1].get<double>())
    return value[1];
  const bool one = value.is_array() && value.size() == 1;
  return one && field.type == field_type<std::ptrdiff_t> ? value.front() : value;
}

}  // namespace

Json keras_object(std::string_view kind, std::string_view class_name, Json config) {
  std::string module = kind == "schedule" ? "keras.optimizers.schedules" : "keras." + std::string(kind);
  if (kind != "schedule") module += kind == "loss" ? "es" : "s";
  for (const auto& [ours, of_keras] : keras_names)
    if (class_name == ours) class_name = of_keras;
  if (class_name == "MultiOptimizer") {
    Json inner = Json::object();
    for (const char* name : {"default_optimizer", "optimizer_map"}) {
      inner[name] = std::move(config[name]);
      config.erase(name);
    }
    config["optimizer_map"] = keras_object(kind, "OptimizerMap", std::move(inner));
  }
  // Constructors that do not take it.
  if (is_of("SpatialDropout1D SpatialDropout2D SpatialDropout3D Discretization", class_name) &&
      config.value("trainable", false))
    config.erase("trainable");
  // A dtype of floats would make their indices floats.
  const auto mode = config.find("output_mode");
  if (mode != config.end() && *mode == "int" && is_of(of_integers, class_name)) config.erase("dtype");
  return object_json(module, class_name, std::move(config), nullptr);
}

Json custom_object(std::string_view class_name, std::string_view registered_name, Json config) {
  return object_json(nullptr, class_name, std::move(config), registered_name);
}

Json model_json(bool functional, Json config) {
  return functional ? object_json("keras.src.models.functional", "Functional", std::move(config), "Functional")
                    : object_json("keras", "Sequential", std::move(config), nullptr);
}

Json policy_json(std::string_view name) { return object_json("keras", "DTypePolicy", {{"name", name}}, nullptr); }

Json present_config(std::span<const Field> fields, std::string_view class_name, const Json& config) {
  const auto named = [&](std::string_view name) {
    const auto found = std::ranges::find_if(fields, [&](const Field& field) { return name == field.name; });
    return found == fields.end() ? nullptr : &*found;
  };
  Json result = Json::object();
  for (const auto& [name, value] : config.items()) {
    const Field* field = named(name);
    for (const Renamed& row : renamed)
      if (!field && row.before == name && is_of(row.class_name, class_name)) field = named(row.now);
    if (!field) {
      if (!without_effect(class_name, name, value)) result[name] = value;
      continue;
    }
    if (const Json* other = member_of(value, "OptimizerMap", "default_optimizer")) result["default_optimizer"] = *other;
    if (auto now = present_value(class_name, *field, value)) result[field->name] = std::move(*now);
  }
  // Keras writes the boundaries to which the layer has adapted, beside the number of bins.
  if (class_name == "Discretization" && result.contains("bin_boundaries") && !result["bin_boundaries"].empty())
    result.erase("num_bins");
  return result;
}

}  // namespace etude
