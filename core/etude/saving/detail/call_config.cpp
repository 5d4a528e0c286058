#include "etude/saving/detail/call_config.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"
#include "etude/data/columns.hpp"
#include "etude/layers/projected_attention.hpp"
#include "etude/layers/recurrent.hpp"
#include "etude/saving/detail/input_config.hpp"
#include "etude/saving/detail/nested_json.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

/// The names of arguments that are tensors, in the order of Étude's inputs.
constexpr std::array<std::string_view, 7> tensor_arguments{"inputs", "sequences",      "query",        "value",
                                                           "key",    "attention_mask", "initial_state"};

/// Adds the history of a tensor, or those of a list of tensors. Returns whether there was any.
bool add_tensors(const Json& json, const std::string& layer, std::vector<const Json*>& inputs) {
  if (json.is_object()) {
    inputs.push_back(&array_in(config_in(json), "keras_history", layer));
    return true;
  }
  if (is_history(json)) {
    inputs.push_back(&json);
    return true;
  }
  if (!json.is_array() || json.empty()) return false;
  return std::ranges::all_of(json, [&](const Json& each) { return add_tensors(each, layer, inputs); });
}

/// Whether it is a tensor, rather than a dict of tensors.
bool is_tensor(const Json& argument) { return argument.contains("class_name") || is_history(argument); }

/// Adds the histories of a model's inputs in nested lists and dicts, in the model's order. Returns whether it is that,
/// rather than a list of tensors.
bool add_nested(const Json& argument, const std::string& layer, const Layer& called, std::vector<const Json*>& inputs) {
  const Leaves leaves = leaves_of(argument, is_tensor);
  const auto* model = dynamic_cast<const Model*>(&called);
  if (leaves.listed() || (!model && argument.is_array())) return false;
  check(model != nullptr, ErrorKind::data, "Functional", "a call of \"", layer,
        "\" with inputs by name - expected a list, or a model with such inputs - create the model in code.");
  for (const std::ptrdiff_t place : places_of(leaves.paths, model->input_names(), "x", true))
    add_tensors(*leaves.values[static_cast<std::size_t>(place)], layer, inputs);
  return true;
}

/// Adds all histories at any depth.
void add_all(const Json& json, std::vector<const Json*>& histories) {
  if (is_history(json)) return histories.push_back(&json);
  if (json.is_structured())
    for (const Json& each : json) add_all(each, histories);
}

/// Whether it is the default of an argument, or a list of such: the masks of several inputs.
bool is_default(const Json& json) {
  return json.is_null() || json == false || (json.is_structured() && std::ranges::all_of(json, is_default));
}

/// Whether it is the name of an argument for the masks of inputs.
bool is_mask(std::string_view name) { return name.ends_with("mask") && name != "attention_mask"; }

/// Whether it is a layer that Keras 3 describes as called with training=True, its default, if the call had no argument.
/// fit, evaluate and predict replace it.
bool trains_by_default(const Layer& layer) {
  constexpr std::array<std::string_view, 12> others{"AugMix",
                                                    "AutoContrast",
                                                    "CenterCrop",
                                                    "ContrastLimitedAdaptiveHistogramEqualization",
                                                    "CutMix",
                                                    "Equalization",
                                                    "MaxNumBoundingBoxes",
                                                    "MixUp",
                                                    "Pipeline",
                                                    "RandAugment",
                                                    "Resizing",
                                                    "Solarization"};
  return layer.class_name().starts_with("Random") || std::ranges::find(others, layer.class_name()) != others.end();
}

/// The member "etude" of a call on initial states that uses the mask of its input.
Json with_mask() { return {{"uses_mask", true}}; }

/// Whether it computes something else in training than in inference.
bool differs_in_training(const Layer& layer) {
  const auto differs = [](const Layer& each) {
    return each.random_key().has_value() || (each.class_name() == "BatchNormalization" && each.trainable());
  };
  return differs(layer) ||
         std::ranges::any_of(layer.layers_inside(), [&](const LayerPtr& each) { return differs(*each); });
}

[[noreturn]] void wrong(const std::string& layer, const std::string& argument, const Json& value) {
  fail(ErrorKind::data, "Functional", "a call of \"", layer, "\" with the argument ", argument, " = ",
       JsonExcerpt{value}, " - expected calls with inputs alone - create the model in code.");
}

bool is_op(const Json& layer) {
  const auto module = layer.find("module");
  return module != layer.end() && module->is_string() &&
         module->get_ref<const std::string&>().starts_with("keras.src.ops.");
}

}  // namespace

bool is_history(const Json& json) { return json.is_array() && json.size() >= 3 && json.front().is_string(); }

const Recurrent* started_by(const Layer& layer) {
  if (layer.class_name() != "Bidirectional") return dynamic_cast<const Recurrent*>(&layer);
  const std::vector<LayerPtr> both = layer.layers();
  return both.empty() ? nullptr : dynamic_cast<const Recurrent*>(both.front().get());
}

Json call_json(const Layer& layer, Json tensors) {
  Json arguments = Json::array(), named = Json::object();
  bool uses_mask = false;
  if (dynamic_cast<const ProjectedAttention*>(&layer)) {  // query, value, key, attention_mask
    for (std::size_t i = 0; i < tensors.size() && i < 3; ++i) arguments.push_back(tensors[i]);
    if (tensors.size() > 3) named["attention_mask"] = tensors[3];
  } else if (const Recurrent* recurrent = started_by(layer); recurrent && tensors.size() > 1) {
    arguments.push_back(tensors.front());
    tensors.erase(tensors.begin());
    named["initial_state"] = std::move(tensors);
    uses_mask = recurrent->uses_mask_with_states();
  } else {
    const auto* model = dynamic_cast<const Model*>(&layer);
    arguments.push_back(
        by_name_or_listed(std::move(tensors), model ? model->input_keys() : std::vector<std::string>()));
  }
  Json node = {{"args", std::move(arguments)}, {"kwargs", std::move(named)}};
  if (uses_mask) node["etude"] = with_mask();
  return node;
}

CallReader::CallReader(const Json& layers) : layers_(layers) {
  for (const Json& layer : layers) {
    const Json& config = config_in(layer);
    const auto name = field_in<std::string>(layer, "name", "Functional", "");
    if (is_op(layer)) ops_[name] = &layer;
    const auto mask_zero = config.find("mask_zero"), mask_value = config.find("mask_value");
    const bool masks_zero = mask_zero != config.end() && *mask_zero == true;
    const auto nodes = layer.find("inbound_nodes");
    if (!(masks_zero || class_name_in(layer) == "Masking") || nodes == layer.end()) continue;
    std::vector<const Json*> inputs;
    add_all(*nodes, inputs);
    const Json number = masks_zero || mask_value == config.end() ? Json(0) : *mask_value;
    for (const Json* history : inputs) masked_.push_back({history, number});
  }
}

/// Whether an op is that by which Keras computes the mask of a layer. Zeros and ones are the masks of tensors without
/// one beside tensors that have one.
bool CallReader::creates_mask(const Json& op, const Json& arguments) const {
  const std::string& class_name = class_name_in(op);
  if (class_name == "ZerosLike" || class_name == "OnesLike") return true;
  if (class_name != "NotEqual" || !arguments.is_array() || arguments.size() != 2) return false;
  std::vector<const Json*> compared;
  add_all(arguments[0], compared);
  return compared.size() == 1 && std::ranges::any_of(masked_, [&](const Masked& each) {
           return *each.history == *compared.front() && each.number == arguments[1];
         });
}

/// Whether ops compute it of masks that layers create, and of nothing else.
bool CallReader::passes_mask(const Json& mask) const {
  std::vector<const Json*> open;
  std::set<std::string> known;
  add_all(mask, open);
  bool is_created = false;
  while (!open.empty()) {
    const auto& name = open.back()->front().get_ref<const std::string&>();
    open.pop_back();
    if (!known.insert(name).second) continue;
    const auto op = ops_.find(name);
    if (op == ops_.end()) return false;
    const auto nodes = op->second->find("inbound_nodes");
    // An op is called once.
    if (nodes == op->second->end() || !nodes->is_array() || nodes->size() != 1) return false;
    const Json& node = nodes->front();
    const auto arguments = node.is_object() ? node.find("args") : node.end();
    if (arguments == node.end()) return false;
    const std::size_t before = open.size();
    const bool creates = creates_mask(*op->second, *arguments);
    if (!creates) add_all(node, open);
    if (!creates && open.size() == before) return false;
    is_created |= creates;
  }
  return is_created;
}

void CallReader::add_named(const Json& arguments, const std::string& layer, const Layer& called,
                           std::vector<const Json*>& inputs) const {
  std::array<std::vector<const Json*>, tensor_arguments.size()> found;
  if (!arguments.is_object()) return;
  for (const auto& [name, value] : arguments.items()) {
    if (is_default(value) || (is_mask(name) && passes_mask(value))) continue;
    if (name == "training" && value == true && trains_by_default(called)) continue;
    const auto* place = std::ranges::find(tensor_arguments, name);
    if (place == tensor_arguments.end() || !value.is_structured() ||
        !add_tensors(value, layer, found[static_cast<std::size_t>(place - tensor_arguments.begin())]))
      wrong(layer, name, value);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    // Without a key, the value is the key.
    if (tensor_arguments[i] == "attention_mask" && !found[i].empty() && inputs.size() == 2) inputs.push_back(inputs[1]);
    inputs.insert(inputs.end(), found[i].begin(), found[i].end());
  }
}

std::vector<const Json*> CallReader::inputs(const Json& node, const std::string& layer, const Layer& called) const {
  std::vector<const Json*> result;
  if (node.is_array()) {  // Keras 2: [[layer, call, output, {names: …}], …]
    for (const Json& entry : node)
      if (!add_tensors(entry, layer, result)) wrong(layer, "inputs", entry);
    for (const Json& entry : node) {
      if (!entry.is_array() || entry.size() < 4) continue;
      add_named(entry[3], layer, called, result);
      const auto training = entry[3].find("training");
      if (training != entry[3].end() && *training == false && differs_in_training(called))
        print_warning({}, "[Functional] \"" + layer +
                              "\" is called with training=False, which has no effect in fit, as in Keras 3. Set its "
                              "trainable to false to keep the statistics of BatchNormalization.");
    }
    return result;
  }
  for (const Json& argument : array_in(node, "args", layer))
    if (!argument.is_null() && !add_nested(argument, layer, called, result) && !add_tensors(argument, layer, result))
      wrong(layer, "args", argument);
  if (const auto named = node.find("kwargs"); named != node.end()) add_named(*named, layer, called, result);
  return result;
}

void CallReader::set_mask_use(const Json& nodes, const std::string& name, Layer& layer) const {
  std::optional<bool> uses;
  for (const Json& node : nodes) {
    if (!started_by(layer) || !node.is_object() || inputs(node, name, layer).size() < 2) continue;
    const auto named = node.find("kwargs");
    const bool is_named = named != node.end() && named->is_object() && !is_default(named->value("mask", Json()));
    const bool used = is_named || member_in(node, "etude") == with_mask();
    check(uses.value_or(used) == used, ErrorKind::data, "Functional", "\"", name,
          "\", called on initial states both with and without a mask - expected one of the two - create the model in "
          "code.");
    uses = used;
  }
  if (!uses) return;
  if (auto* recurrent = dynamic_cast<Recurrent*>(&layer)) return recurrent->set_uses_mask_with_states(*uses);
  for (const LayerPtr& inside : layer.layers())
    if (auto* recurrent = dynamic_cast<Recurrent*>(inside.get())) recurrent->set_uses_mask_with_states(*uses);
}

void CallReader::need(const Json& config) {
  std::map<std::string, const Json*> layers;
  for (const Json& layer : layers_) layers.emplace(field_in<std::string>(layer, "name", "Functional", ""), &layer);
  std::vector<const Json*> open;
  if (const auto outputs = config.find("output_layers"); outputs != config.end()) add_all(*outputs, open);
  while (!open.empty()) {
    const Json& history = *open.back();
    open.pop_back();
    const auto& name = history.front().get_ref<const std::string&>();
    const auto found = layers.find(name);
    if (found == layers.end() || !needed_.insert(name).second) continue;
    const auto nodes = found->second->find("inbound_nodes");
    if (nodes == found->second->end() || !nodes->is_array()) continue;
    for (const Json& node : *nodes)
      if (node.is_object() && node.contains("kwargs") && !is_op(*found->second)) {
        if (node.contains("args")) add_all(node["args"], open);
        for (const auto& [argument, value] : node["kwargs"].items())
          if (!is_mask(argument)) add_all(value, open);
      } else {
        add_all(node, open);
      }
  }
}

}  // namespace etude
