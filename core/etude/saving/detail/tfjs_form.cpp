#include "etude/saving/detail/tfjs_form.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "etude/base/error.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/object_parts.hpp"

namespace etude {
namespace {

/// Whether a word is in a list of words.
bool is_among(std::string_view list, std::string_view word) {
  for (std::size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
  }
  return false;
}

// What @tensorflow/tfjs 4.22.0 registers. hard_sigmoid and others are left out where they compute something else.

constexpr std::string_view layers =
    "InputLayer Dense Activation Dropout Flatten Reshape Permute RepeatVector Masking Embedding Conv1D Conv2D Conv3D "
    "Conv2DTranspose Conv3DTranspose SeparableConv2D DepthwiseConv2D Cropping2D UpSampling2D ZeroPadding2D "
    "MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D GlobalAveragePooling1D "
    "GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D BatchNormalization LayerNormalization SimpleRNN GRU "
    "LSTM RNN SimpleRNNCell GRUCell LSTMCell StackedRNNCells ConvLSTM2D Bidirectional TimeDistributed Add Multiply "
    "Average Maximum Minimum Concatenate Dot ReLU LeakyReLU PReLU ELU ThresholdedReLU Softmax SpatialDropout1D "
    "GaussianNoise GaussianDropout AlphaDropout Rescaling";
constexpr std::string_view activations =
    "linear relu relu6 elu selu sigmoid softplus softsign tanh softmax log_softmax gelu mish swish";
constexpr std::string_view initializers =
    "Zeros Ones Constant RandomUniform RandomNormal TruncatedNormal Identity VarianceScaling GlorotUniform "
    "GlorotNormal HeNormal HeUniform LeCunNormal LeCunUniform Orthogonal";
constexpr std::string_view constraints = "MaxNorm UnitNorm NonNeg MinMaxNorm";

/// An option that TensorFlow.js lacks: the only value, a text in JSON, with which it computes the same.
struct Only {
  std::string_view classes;
  const char* option;
  std::string_view value;
};
constexpr Only only[] = {
    {"Conv1D Conv2D Conv3D", "groups", "1"},
    {"Conv2DTranspose Conv3DTranspose", "output_padding", "null"},
    {"GRU GRUCell", "reset_after", "false"},
    {"ReLU", "negative_slope", "0.0"},
    {"ReLU", "threshold", "0.0"},
    {"GlobalAveragePooling1D GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D", "keepdims", "false"},
    {"UpSampling2D", "interpolation", "\"nearest\""},  // it computes other corners
    {"Conv1D MaxPooling1D AveragePooling1D GlobalAveragePooling1D GlobalMaxPooling1D SeparableConv2D", "data_format",
     "\"channels_last\""},
    {"ELU", "alpha", "1.0"},
    {"LayerNormalization", "rms_scaling", "false"},
    {"BatchNormalization", "renorm", "false"},
    {"Bidirectional", "backward_layer", "null"},
    {"SimpleRNN GRU LSTM RNN ConvLSTM2D", "zero_output_for_mask", "false"}};

/// One layer while its config is converted.
struct Place {
  std::string name, class_name;

  [[noreturn]] void lacks(std::string_view what, std::string_view which = {}) const {
    fail(ErrorKind::value, "Model.save", class_name, " \"", name, "\"", what, which,
         " - expected layers and options of TensorFlow.js - save a .keras file instead, or change the layer.");
  }
};

std::string text_of(const Json& json) { return json.is_string() ? json.get<std::string>() : json_text(json); }

/// The names of the parts that TensorFlow.js ignores are left out.
Json object_of(std::string_view class_name, Json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

Json activation(const Json& value, const Place& place) {
  if (value.is_null()) return "linear";
  if (value == "silu") return "swish";
  if (const Json* function = function_in(value); function && *function == keras2_hard_sigmoid) return "hard_sigmoid";
  if (!value.is_string() || !is_among(activations, value.get_ref<const std::string&>()))
    place.lacks(" with the activation ", json_text(value));
  return value;
}

/// Null for one that TensorFlow.js lacks: it does not initialize weights that it loads.
Json initializer(const Json& value) {
  if (!value.is_object()) return nullptr;
  std::string class_name = class_name_in(value);
  if (class_name.starts_with("Lecun")) class_name[2] = 'C';
  const Json& config = config_in(value);
  const bool is_untruncated = text_in(config, "distribution") == "untruncated_normal";
  return is_among(initializers, class_name) && !is_untruncated ? object_of(class_name, config) : Json();
}

Json regularizer(const Json& value, const Place& place) {
  if (!value.is_object()) return nullptr;
  const std::string& class_name = class_name_in(value);
  if (!is_among("L1 L2 L1L2", class_name)) place.lacks(" with the regularizer ", class_name);
  const Json& config = config_in(value);
  return object_of("L1L2", {{"l1", config.value("l1", 0.0)}, {"l2", config.value("l2", 0.0)}});
}

Json constraint(const Json& value, const Place& place) {
  if (!value.is_object()) return nullptr;
  const std::string& class_name = class_name_in(value);
  if (!is_among(constraints, class_name)) place.lacks(" with the constraint ", class_name);
  return object_of(class_name, config_in(value));
}

bool is_model(const Json& layer) { return is_model_class(class_name_in(layer)) && registered_name_in(layer).empty(); }

Json layer_of(const Json& layer);

/// The value of an option in the form of TensorFlow.js.
Json converted(const std::string& option, const Json& value, const Place& place) {
  if (option == "dtype") return value.is_string() ? value : "float32";  // the only dtype of its layers' floats
  if (option.ends_with("activation")) return activation(value, place);
  if (option.ends_with("_initializer")) return initializer(value);
  if (option == "activity_regularizer" && !value.is_null())
    place.lacks(" with \"activity_regularizer\": ", text_of(value));
  if (option.ends_with("_regularizer")) return regularizer(value, place);
  if (option.ends_with("_constraint")) return constraint(value, place);
  if (option == "layer" || option == "cell") return layer_of(value);
  if (option == "cells") {
    Json cells = Json::array();
    for (const Json& cell : value) cells.push_back(layer_of(cell));
    return cells;
  }
  if (place.class_name == "UpSampling2D" && option == "size" && value.is_number()) return {value, value};
  return value;
}

/// The name of an option in TensorFlow.js.
std::string option_name(const std::string& name, const Place& place) {
  if (name == "batch_shape") return "batch_input_shape";
  return place.class_name == "LeakyReLU" && name == "negative_slope" ? "alpha" : name;
}

bool is_one(const Json& value) {
  return value == 1 || (value.is_array() && std::ranges::all_of(value, [](const Json& each) { return each == 1; }));
}

/// Whether a window is smaller than its stride along an axis.
bool has_gaps(const Json& window, const Json& strides) {
  const auto at = [](const Json& list, std::size_t i) { return list.is_array() ? list.at(i) : list; };
  for (std::size_t i = 0; i < 3; ++i)
    if (at(strides, i).is_number() && at(window, i) < at(strides, i)) return true;
  return false;
}

/// Writes the number that -1 stands for, if the shape of the input is known: in TensorFlow.js the extent stays unknown,
/// and later layers refuse it.
void find_extent(Json& target, const Json& input) {
  if (!target.is_array() || !input.is_array() || input.empty()) return;
  std::int64_t size = 1, known = 1;
  for (std::size_t i = 1; i < input.size(); ++i) {
    if (!input[i].is_number_integer()) return;
    size *= input[i].get<std::int64_t>();
  }
  for (const Json& extent : target)
    if (extent != -1) known *= extent.get<std::int64_t>();
  for (Json& extent : target)
    if (extent == -1 && known > 0) extent = size / known;
}

Json plain_layer(const Json& layer, const Place& place) {
  if (!registered_name_in(layer).empty()) place.lacks(", a custom class");
  if (!is_among(layers, place.class_name)) place.lacks(", which TensorFlow.js lacks or computes otherwise");
  const Json& config = config_in(layer);
  for (const auto& [classes, option, value] : only)
    if (is_among(classes, place.class_name) && config.contains(option) && config[option] != parse_json(value, option))
      place.lacks(" with \"", std::string(option) + "\": " + text_of(config[option]));
  // It ignores the dilation of these.
  const bool is_dilated = config.contains("dilation_rate") && !is_one(config["dilation_rate"]);
  if (is_dilated && is_among("DepthwiseConv2D Conv2DTranspose Conv3DTranspose", place.class_name))
    place.lacks(" with \"dilation_rate\": ", text_of(config["dilation_rate"]));
  // TensorFlow.js places these windows elsewhere.
  const bool is_of_3_axes = is_among("Conv3D Conv3DTranspose MaxPooling3D AveragePooling3D", place.class_name);
  const char* window = config.contains("pool_size") ? "pool_size" : "kernel_size";
  if (is_of_3_axes && text_in(config, "padding") == "same" && has_gaps(config[window], config["strides"]))
    place.lacks(" with \"padding\": \"same\" and \"strides\": ", text_of(config["strides"]));
  // TensorFlow.js takes every negative axis for the last.
  if (place.class_name == "Concatenate" && config.value("axis", -1) < -1)
    place.lacks(" with \"axis\": ", text_of(config["axis"]));
  // TensorFlow.js computes something else along an inner axis, or refuses it.
  const Json &axis = member_in(config, "axis"), &shape = member_in(member_in(layer, "build_config"), "input_shape");
  const bool is_last = axis == -1 || (shape.is_array() && axis == shape.size() - 1);
  if (is_among("BatchNormalization Softmax", place.class_name) && !is_last)
    place.lacks(" with \"axis\": ", text_of(axis));
  if (text_in(config, "padding") == "causal") place.lacks(" with \"padding\": ", "causal");
  Json result = Json::object();
  for (const auto& [name, value] : config.items()) {
    Json part = value;
    if (name == "layer" && place.class_name == "TimeDistributed" && shape.is_array() && shape.size() > 1) {
      part["build_config"]["input_shape"] = shape;
      part["build_config"]["input_shape"].erase(1);
    }
    add_member(result, option_name(name, place), converted(name, part, place));
  }
  if (place.class_name == "Reshape") find_extent(result["target_shape"], shape);
  return object_of(place.class_name, std::move(result));
}

/// Adds the histories in it, at any depth, as entries of a node of Keras 2. There the calls of a model are counted from
/// 1: its own outputs are call 0.
void add_histories(const Json& json, const std::set<std::string>& models, Json& entries) {
  if (json.is_array() && json.size() == 3 && json[0].is_string()) {
    const std::size_t call = json[1].get<std::size_t>() + models.count(json[0].get<std::string>());
    entries.push_back({json[0], call, json[2]});
  } else if (json.is_object() && json.contains("config") && json["config"].contains("keras_history")) {
    add_histories(json["config"]["keras_history"], models, entries);
  } else if (json.is_structured()) {
    for (const Json& each : json) add_histories(each, models, entries);
  }
}

Json histories(const Json& json, const std::set<std::string>& models) {
  Json entries = Json::array();
  add_histories(json, models, entries);
  return entries;
}

Json functional_config(const Json& config) {
  // TensorFlow.js counts the calls of models from 1. The description does so only for outputs of Functional models.
  std::set<std::string> models, sequential;
  for (const Json& layer : config["layers"]) {
    if (!is_model(layer)) continue;
    models.insert(layer["name"].get<std::string>());
    if (class_name_in(layer) == "Sequential") sequential.insert(layer["name"].get<std::string>());
  }
  Json all = Json::array();
  for (const Json& layer : config["layers"]) {
    const auto name = layer["name"].get<std::string>();
    if (layer.contains("etude")) continue;  // the op of a mask, which TensorFlow.js passes on itself
    if (text_in(layer, "module").starts_with("keras.src.ops."))
      Place{name, "op"}.lacks(", which is no layer in TensorFlow.js");
    Json result = layer_of(layer), nodes = Json::array();
    for (Json node : layer["inbound_nodes"]) {
      node["kwargs"].erase("mask");
      Json entries = histories(node, models);
      for (Json& entry : entries) entry.push_back(Json::object());
      nodes.push_back(std::move(entries));
    }
    add_member(result, "name", name);
    add_member(result, "inbound_nodes", std::move(nodes));
    all.push_back(std::move(result));
  }
  return {{"name", config["name"]},
          {"trainable", config["trainable"]},
          {"layers", std::move(all)},
          {"input_layers", histories(config["input_layers"], models)},
          {"output_layers", histories(config["output_layers"], sequential)}};
}

Json sequential_config(const Json& config) {
  Json all = Json::array();
  const Json& inner = config["layers"];
  const bool has_input = !inner.empty() && class_name_in(inner[0]) == "InputLayer";
  if (!has_input && config.contains("build_input_shape"))
    all.push_back(object_of("InputLayer", {{"batch_input_shape", config["build_input_shape"]},
                                           {"dtype", "float32"},
                                           {"name", text_of(config["name"]) + "_input"}}));
  for (const Json& layer : inner) all.push_back(layer_of(layer));
  return {{"name", config["name"]}, {"trainable", config["trainable"]}, {"layers", std::move(all)}};
}

Json layer_of(const Json& layer) {
  const std::string& class_name = class_name_in(layer);
  const Json& config = config_in(layer);
  if (is_model(layer)) {
    if (class_name == "Sequential") return object_of(class_name, sequential_config(config));
    return object_of("Functional", functional_config(config));
  }
  return plain_layer(layer, {text_in(config, "name"), class_name});
}

/// TensorFlow.js writes the options of the cell of an RNN also as options of the layer.
void remove_options_of_cell(Json& config) {
  const Json cell = member_in(member_in(config, "cell"), "config");  // a copy: `config` loses members
  if (!cell.is_object()) return;
  for (const auto& [name, value] : cell.items())
    if (name != "name" && name != "trainable" && name != "dtype") config.erase(name);
}

/// The shape of the only input of a layer or model, if its config has it.
const Json* input_shape_of(const Json& layer) {
  const Json &config = member_in(layer, "config"), &inner = member_in(config, "layers");
  for (const char* name : {"batch_input_shape", "batch_shape", "build_input_shape"})
    if (const Json& shape = member_in(config, name); !shape.is_null()) return &shape;
  return !inner.is_array() || inner.empty() ? nullptr : input_shape_of(inner.front());
}

/// A model that begins with another has the shape of its input there.
void add_input_shape(Json& config) {
  const Json& inner = member_in(config, "layers");
  if (!inner.is_array() || inner.empty() || config.contains("build_input_shape")) return;
  if (const Json* shape = input_shape_of(inner.front())) config["build_input_shape"] = Json(*shape);
}

}  // namespace

Json tfjs_topology(const Json& model) {
  Json result = layer_of(model);
  add_member(result, "keras_version", "tfjs-layers 4.22.0");
  add_member(result, "backend", "tensor_flow.js");
  return result;
}

Json read_tfjs_topology(const Json& topology) {
  if (topology.is_array()) {
    Json result = Json::array();
    for (const Json& each : topology) result.push_back(read_tfjs_topology(each));
    return result;
  }
  if (!topology.is_object()) return topology;
  Json result = Json::object();
  for (const auto& [name, value] : topology.items()) {
    // It writes null for what was not passed.
    if (!value.is_null() || name == "merge_mode") add_member(result, name, read_tfjs_topology(value));
  }
  const std::string class_name = text_in(result, "class_name");
  if (!result.contains("config") || !result["config"].is_object()) return result;
  if (class_name == "RNN") remove_options_of_cell(result["config"]);
  if (class_name == "Sequential") add_input_shape(result["config"]);
  // TensorFlow.js writes null for -1.
  if (class_name == "Reshape" && result["config"].contains("target_shape"))
    for (Json& extent : result["config"]["target_shape"])
      if (extent.is_null()) extent = -1;
  // Early versions had no such option.
  const bool is_gru = class_name == "GRU" || class_name == "GRUCell";
  if (is_gru && !result["config"].contains("reset_after")) result["config"]["reset_after"] = false;
  return result;
}

}  // namespace etude
