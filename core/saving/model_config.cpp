#include "etude/saving/model_config.hpp"

#include <algorithm>
#include <map>

#include "etude/saving/model_state.hpp"
#include "etude/saving/registry.hpp"
#include "etude/training/functional.hpp"
#include "etude/training/sequential.hpp"

namespace etude {
namespace {

/// A shape with any batch size.
Shape any_batch(const Shape& shape) {
  Shape result = shape;
  if (result.rank() > 0) result[0] = -1;
  return result;
}

const Json& array_in(const Json& config, const char* name, const std::string& class_name) {
  const auto found = config.find(name);
  check(found != config.end() && found->is_array(), ErrorKind::data, class_name, "a config without the array \"", name,
        "\" - expected one - check the text.");
  return *found;
}

std::string string_in(const Json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && found->is_string() ? found->get<std::string>() : "";
}

Json sequential_config(const Sequential& model) {
  Json config = {{"name", model.name()}, {"trainable", model.trainable()}, {"layers", Json::array()}};
  for (const LayerPtr& layer : model.layers()) config["layers"].push_back(object_to_json<Layer>(*layer));
  if (model.built() && model.input_shape())
    config["build_input_shape"] = field_json(any_batch(*model.input_shape()), {"Sequential", "build_input_shape"});
  return config;
}

ModelPtr sequential_from(const Json& config) {
  std::vector<LayerPtr> layers;
  for (const Json& layer : array_in(config, "layers", "Sequential")) layers.push_back(object_from_json<Layer>(layer));
  auto model = std::make_shared<Sequential>(std::move(layers), LayerOptions{.name = string_in(config, "name")});
  model->set_trainable(config.value("trainable", true));
  if (config.contains("build_input_shape") && !config["build_input_shape"].is_null()) {
    Shape shape;
    read_field(config["build_input_shape"], shape, {"Sequential", "build_input_shape"});
    model->build(shape);
  }
  return model;
}

// A Functional model as Keras writes it: each layer has a node for every call of it, which names the tensors it was
// called on by their history: the layer that gives one, as which of its calls and of its outputs.

/// The calls of a description, by layer, each layer's in the order in which they depend on each other.
class Calls {
 public:
  explicit Calls(const Functional& model) {
    for (const SymbolicTensor& input : model.inputs()) visit(input);
    for (const SymbolicTensor& output : model.outputs()) visit(output);
  }

  const std::vector<std::shared_ptr<const LayerCall>>& of(const LayerPtr& layer) const { return calls_.at(layer); }

  Json history(const SymbolicTensor& tensor) const {
    const auto& calls = of(tensor.call()->layer);
    return {tensor.name(), std::ranges::find(calls, tensor.call()) - calls.begin(), tensor.output()};
  }
  Json tensor(const SymbolicTensor& tensor) const {
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", field_json(tensor.shape(), {})},
              {"dtype", std::string(name_of(tensor.dtype()))},
              {"keras_history", history(tensor)}}}};
  }

 private:
  void visit(const SymbolicTensor& tensor) {
    auto& calls = calls_[tensor.call()->layer];
    if (std::ranges::find(calls, tensor.call()) != calls.end()) return;
    for (const SymbolicTensor& input : tensor.call()->inputs) visit(input);
    calls_[tensor.call()->layer].push_back(tensor.call());
  }

  std::map<LayerPtr, std::vector<std::shared_ptr<const LayerCall>>> calls_;
};

Json input_layer_json(const SymbolicTensor& input) {
  return {{"class_name", "InputLayer"},
          {"config",
           {{"batch_shape", field_json(input.shape(), {})},
            {"dtype", std::string(name_of(input.dtype()))},
            {"name", input.name()}}}};
}

Json functional_config(const Functional& model) {
  const Calls calls(model);
  Json config = {{"name", model.name()}, {"trainable", model.trainable()}, {"layers", Json::array()}};
  for (const LayerPtr& layer : model.layers()) {
    const auto& of_layer = calls.of(layer);
    Json json =
        of_layer.front()->inputs.empty() ? input_layer_json({of_layer.front(), 0}) : object_to_json<Layer>(*layer);
    json["name"] = layer->name();
    json["inbound_nodes"] = Json::array();
    for (const auto& call : of_layer) {
      Json inputs = Json::array();
      for (const SymbolicTensor& input : call->inputs) inputs.push_back(calls.tensor(input));
      if (inputs.empty()) continue;
      Json arguments = Json::array();
      arguments.push_back(inputs.size() == 1 ? inputs.front() : inputs);
      json["inbound_nodes"].push_back({{"args", arguments}, {"kwargs", Json::object()}});
    }
    config["layers"].push_back(std::move(json));
  }
  for (const auto& [name, tensors] :
       {std::pair("input_layers", &model.inputs()), {"output_layers", &model.outputs()}}) {
    config[name] = Json::array();
    for (const SymbolicTensor& tensor : *tensors) config[name].push_back(calls.history(tensor));
  }
  return config;
}

/// A model that is being described anew: what each layer's calls gave so far.
class GraphReader {
 public:
  explicit GraphReader(const Json& config) {
    const Json& layers = array_in(config, "layers", "Functional");
    for (const Json& json : layers) add(json);
    // A layer that is called several times may wait for others between its calls.
    for (std::size_t before = 1; before > 0;) {
      before = waiting_.size();
      std::erase_if(waiting_, [this](const Node& node) { return call(node); });
      if (waiting_.size() == before) break;
    }
    check(waiting_.empty(), ErrorKind::data, "Functional", "layer \"", waiting_.empty() ? "" : waiting_.front().name,
          "\" is called on what no layer gives - expected a graph without loops - check the text.");
  }

  std::vector<SymbolicTensor> tensors(const Json& histories) const {
    std::vector<SymbolicTensor> result;
    // One alone may stand without the list around it.
    if (!histories.empty() && histories.front().is_string()) return {tensor(histories)};
    for (const Json& history : histories) result.push_back(tensor(history));
    return result;
  }

 private:
  struct Node {
    std::string name;
    LayerPtr layer;
    std::size_t index;
    std::vector<Json> inputs;
  };
  using Outputs = std::vector<SymbolicTensor>;

  void add(const Json& json) {
    const std::string name = string_in(json, "name");
    if (class_name_in(json) == "InputLayer") {
      const Json& config = config_in(json);
      Shape shape;
      read_field(array_in(config, "batch_shape", "InputLayer"), shape, {"InputLayer", "batch_shape"});
      check(shape.rank() > 0, ErrorKind::data, "InputLayer", "an empty batch_shape - expected [null, …] - check it.");
      outputs_[name].push_back(
          {layers::input({.shape = shape.without(0), .dtype = string_in(config, "dtype"), .name = name})});
      return;
    }
    const LayerPtr layer = object_from_json<Layer>(json);
    const Json& nodes = array_in(json, "inbound_nodes", "Functional");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Node node{name, layer, i, {}};
      for (const Json& argument : array_in(nodes[i], "args", name)) {
        const bool several = argument.is_array();
        for (const Json& tensor : several ? argument : Json::array({argument}))
          node.inputs.push_back(array_in(config_in(tensor), "keras_history", name));
      }
      waiting_.push_back(std::move(node));
    }
  }

  const SymbolicTensor* find(const Json& history) const {
    const bool sound = history.is_array() && history.size() >= 3 && history[0].is_string() &&
                       history[1].is_number_unsigned() && history[2].is_number_unsigned();
    check(sound, ErrorKind::data, "Functional", "a history ", json_text(history),
          " - expected [layer, call, output] - check the text.");
    const auto layer = outputs_.find(history[0].get<std::string>());
    const auto call = history[1].get<std::size_t>(), output = history[2].get<std::size_t>();
    if (layer == outputs_.end() || call >= layer->second.size() || output >= layer->second[call].size()) return nullptr;
    return &layer->second[call][output];
  }

  SymbolicTensor tensor(const Json& history) const {
    const SymbolicTensor* found = find(history);
    check(found != nullptr, ErrorKind::data, "Functional", json_text(history),
          " is given by no layer - expected one that the model calls - check the text.");
    return *found;
  }

  /// Calls a layer if all that it is called on is there, and its calls before were made.
  bool call(const Node& node) {
    std::vector<SymbolicTensor> inputs;
    for (const Json& history : node.inputs) {
      const SymbolicTensor* input = find(history);
      if (!input) return false;
      inputs.push_back(*input);
    }
    auto& calls = outputs_[node.name];
    if (calls.size() != node.index) return false;
    calls.push_back(node.layer->apply_all(inputs));
    return true;
  }

  std::map<std::string, std::vector<Outputs>> outputs_;  // by layer and call
  std::vector<Node> waiting_;
};

ModelPtr functional_from(const Json& config) {
  const GraphReader description(config);
  const auto tensors = [&](const char* name) { return description.tensors(array_in(config, name, "Functional")); };
  auto model = std::make_shared<Functional>(tensors("input_layers"), tensors("output_layers"),
                                            LayerOptions{.name = string_in(config, "name")});
  model->set_trainable(config.value("trainable", true));
  return model;
}

}  // namespace

bool is_model_class(const std::string& class_name) { return class_name == "Sequential" || class_name == "Functional"; }

Json model_to_json(const Model& model) {
  if (const auto* sequential = dynamic_cast<const Sequential*>(&model))
    return {{"class_name", "Sequential"}, {"config", sequential_config(*sequential)}};
  const auto* functional = dynamic_cast<const Functional*>(&model);
  check(functional != nullptr, ErrorKind::value, "Model", "\"", model.name(),
        "\" is of a class of its own - expected Sequential or Functional - save its weights instead, and make it in "
        "code.");
  return {{"class_name", "Functional"}, {"config", functional_config(*functional)}};
}

ModelPtr model_from_json(const Json& json) {
  return class_name_in(json) == "Sequential" ? sequential_from(config_in(json)) : functional_from(config_in(json));
}

Json compile_to_json(const Model& model) {
  if (!model.compiled()) return nullptr;
  Json json = options_to_json("compile", model.compile_options());
  json["optimizer"] = object_to_json<Optimizer>(model.optimizer());
  return json;
}

void compile_from_json(Model& model, const Json& json) {
  model.compile(options_from_json<CompileOptions>("compile", json));
}

Json draws_of(const Model& model) {
  Json json = Json::object();
  for (const auto& [name, layer] : drawing_layers(model)) {
    const RandomKey key = *layer->random_key();
    json[name] = {{"seed", key.seed}, {"stream", key.stream}};
  }
  return json;
}

bool restore_draws(const Model& model, const Json& json, std::string_view where) {
  bool changed = false;
  for (const auto& [name, layer] : drawing_layers(model)) {
    const bool sound = json.is_object() && json.contains(name) && json[name].is_object() &&
                       json[name].contains("seed") && json[name]["seed"].is_number_unsigned() &&
                       json[name].contains("stream") && json[name]["stream"].is_number_unsigned();
    check(sound, ErrorKind::data, where, "no seed and stream of layer \"", name,
          "\" - expected those of its random draws - load it into the model it is of.");
    const RandomKey key{json[name]["seed"].get<std::uint64_t>(), json[name]["stream"].get<std::uint32_t>()};
    if (*layer->random_key() == key) continue;
    layer->set_random_key(key);
    changed = true;
  }
  return changed;
}

}  // namespace etude
