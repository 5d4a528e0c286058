#include "etude/saving/detail/model_config.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "etude/graph/detail/node.hpp"
#include "etude/layers/recurrent.hpp"
#include "etude/saving/detail/call_config.hpp"
#include "etude/saving/detail/functional_config.hpp"
#include "etude/saving/detail/input_config.hpp"
#include "etude/saving/detail/keras_form.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/nested_json.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/op_config.hpp"
#include "etude/saving/detail/shared_objects.hpp"
#include "etude/training/functional.hpp"
#include "etude/training/sequential.hpp"

namespace etude {
namespace {

/// Whether a layer inside keeps a row for each sample from batch to batch: such a model is built for one batch size.
bool keeps_rows(const Layer& layer) {
  if (dynamic_cast<const Recurrent*>(&layer) && !layer.own_states().empty()) return true;
  return std::ranges::any_of(layer.layers(), [](const LayerPtr& inner) { return keeps_rows(*inner); });
}

bool is_functional(const Layer* layer) { return dynamic_cast<const Functional*>(layer) != nullptr; }

/// The options that all models have.
LayerOptions options_in(const Json& config, const std::string& class_name) {
  return {.name = field_in<std::string>(config, "name", class_name, ""),
          .dtype = {},
          .trainable = field_in(config, "trainable", class_name, true)};
}

/// The shapes of the inputs of the layers, as far as they are known.
std::vector<std::optional<Shape>> input_shapes(const Sequential& model) {
  const std::vector<LayerPtr> layers = model.layers();
  std::vector<std::optional<Shape>> shapes(layers.size());
  if (!model.has_input()) return shapes;
  SymbolicTensor at = model.outputs().front();
  for (std::size_t i = layers.size(); i > 0 && at.call()->layer == layers[i - 1]; --i) {
    at = SymbolicTensor(at.call()->inputs.front());
    shapes[i - 1] = at.shape();
  }
  return shapes;
}

/// The shape for which a layer was built, for any batch.
std::optional<Shape> built_shape(const Layer& layer) {
  std::optional<Shape> shape = layer.input_shape();
  if (shape && shape->rank() > 0 && !keeps_rows(layer)) (*shape)[0] = -1;
  return shape;
}

Json sequential_config(const Sequential& model) {
  Json config = {{"name", model.name()}, {"trainable", model.trainable()}, {"layers", Json::array()}};
  if (model.has_input()) {
    const SymbolicTensor input = model.inputs().front();
    config["layers"].push_back(input_layer_json(input));
    config["build_input_shape"] = field_json(input.shape(), {});
  }
  const std::vector<LayerPtr> layers = model.layers();
  const std::vector<std::optional<Shape>> shapes = input_shapes(model);
  for (std::size_t i = 0; i < layers.size(); ++i)
    config["layers"].push_back(layer_json(*layers[i], shapes[i] ? shapes[i] : built_shape(*layers[i])));
  if (!model.has_input() && model.built() && model.input_shape())
    config["build_input_shape"] = field_json(build_shape(model), {"Sequential", "build_input_shape"});
  return config;
}

/// Whether it describes an InputLayer, rather than a registered class of that name.
bool is_input(const Json& json) { return class_name_in(json) == "InputLayer" && registered_name_in(json).empty(); }

ModelPtr sequential_from(const Json& config) {
  std::vector<LayerPtr> layers;
  auto shape = field_in<std::optional<Shape>>(config, "build_input_shape", "Sequential", std::nullopt);
  const Json& all = array_in(config, "layers", "Sequential");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool input = i == 0 && is_input(all[i]);
    if (input || (i == 0 && all[i].contains("config") && all[i]["config"].contains("batch_input_shape")))
      shape = input_shape_in(config_in(all[i]));
    if (!input)
      layers.push_back(object_from_json<Layer>(all[i]));
    else if ((*shape)[0] == -1)
      layers.push_back(input_layer_from(config_in(all[i])));
  }
  auto model = std::make_shared<Sequential>(std::move(layers), options_in(config, "Sequential"));
  if (shape) model->build(*shape);
  return model;
}

/// Rebuilds a model's graph; holds the outputs of each layer's calls so far.
class GraphReader {
 public:
  explicit GraphReader(const Json& config) : calls_(array_in(config, "layers", "Functional")) {
    calls_.need(config);
    for (const Json& json : array_in(config, "layers", "Functional")) add(json);
    for (const Node& node : nodes_)
      for (const Json* history : node.inputs) find_first_call(*history);
    if (const auto outputs = config.find("output_layers"); outputs != config.end() && outputs->is_structured())
      for (const Json* history : leaves_of(*outputs, is_history).values)
        if (history->is_array()) find_first_output(*history);
    for (std::size_t i = 0; i < nodes_.size(); ++i) wait(i);
    while (!ready_.empty()) {
      const auto [round, next] = *ready_.begin();
      ready_.erase(ready_.begin());
      call(next, round);
    }
    for (const Node& node : nodes_)
      check(node.missing == 0, ErrorKind::data, "Functional", "layer \"", node.place.layer,
            "\" is called on a tensor that no layer returns - expected a graph without loops - check the text.");
  }

  /// The tensors of nested lists and dicts of histories. A single tensor may appear without a list around it.
  SymbolicTensors tensors(const Json& config, const char* name) const {
    const auto found = config.find(name);
    const bool is_dict = found != config.end() && found->is_object();
    const Json& histories = is_dict ? *found : array_in(config, name, "Functional");
    std::vector<SymbolicTensor> result;
    if (histories.empty()) return result;
    Leaves leaves = leaves_of(histories, is_history);
    for (const Json* history : leaves.values) result.push_back(tensor(counted_from_0(*history)));
    return {std::move(result), leaves.listed() ? std::vector<std::string>() : std::move(leaves.paths)};
  }

 private:
  /// A call of a layer.
  struct Place {
    std::string layer;
    std::size_t call = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Node {
    Place place;
    LayerPtr layer;
    std::vector<const Json*> inputs;
    std::size_t missing = 0;  // how many calls on which it depends are still missing
  };

  void add(const Json& json) {
    const std::string name = field_in<std::string>(json, "name", "Functional", "");
    if (is_input(json)) return add_input(name, config_in(json));
    if (field_in<std::string>(json, "module", "Functional", "").starts_with("keras.src.ops."))
      return calls_.needs_op(name) ? add_op(name, json) : void();
    const LayerPtr layer = object_from_json<Layer>(json);
    const Json& nodes = array_in(json, "inbound_nodes", "Functional");
    for (std::size_t i = 0; i < nodes.size(); ++i) add_node({{name, i}, layer, calls_.inputs(nodes[i], name, *layer)});
    calls_.set_mask_use(nodes, name, *layer);
    const bool of_keras3 = !nodes.empty() && nodes.front().is_object();
    if (of_keras3 && is_functional(layer.get())) outputs_from_1_.insert(name);
  }

  void add_node(Node node) {
    check(known_.insert(node.place).second, ErrorKind::data, "Functional", "two layers named \"", node.place.layer,
          "\" - expected unique names - check the text.");
    nodes_.push_back(std::move(node));
  }

  /// An op is called once.
  void add_op(const std::string& name, const Json& json) {
    const Json& nodes = array_in(json, "inbound_nodes", name);
    check(nodes.size() == 1, ErrorKind::data, "Functional", "the op \"", name, "\" with ", nodes.size(),
          " calls - expected one - check the text.");
    Node node{{name, 0}, {}, {}};
    node.layer = op_from_json(json, nodes.front(), name, node.inputs);
    add_node(std::move(node));
  }

  void add_input(const std::string& name, const Json& config) {
    check(known_.insert({name, 0}).second, ErrorKind::data, "Functional", "two layers named \"", name,
          "\" - expected unique names - check the text.");
    outputs_[{name, 0}] = {input_layer_from(config, name)->tensor()};
  }

  /// Keras 2 counts the calls of some models within a model from 1.
  void find_first_call(const Json& history) {
    const Place place = source_of(history).first;
    if (place.call > 0 && !known_.contains(place) && known_.contains({place.layer, place.call - 1}))
      counted_from_1_.insert(place.layer);
  }

  /// Keras 3 counts the calls of a Functional model within a model from 1 where it lists outputs, and from 0 elsewhere.
  /// Étude's first files count them from 0 there, too.
  void find_first_output(const Json& history) {
    const Place place = source_of(history).first;
    if (!outputs_from_1_.contains(place.layer)) return find_first_call(history);
    if (place.call == 0) outputs_from_1_.erase(place.layer);
  }

  /// The history of an output with the number of its call as elsewhere.
  Json counted_from_0(Json history) const {
    const Place place = source_of(history).first;
    if (outputs_from_1_.contains(place.layer) && place.call > 0) history[1] = place.call - 1;
    return history;
  }

  /// The call of a history, and which of its outputs it is.
  std::pair<Place, std::size_t> source_of(const Json& history) const {
    check(history.is_array() && history.size() >= 3 && history[0].is_string(), ErrorKind::data, "Functional",
          "a history ", JsonExcerpt{history}, " - expected [layer, call, output] - check the text.");
    std::pair<Place, std::size_t> source{{history[0].get<std::string>(), 0}, 0};
    read_field(history[1], source.first.call, {"Functional", "keras_history"});
    read_field(history[2], source.second, {"Functional", "keras_history"});
    if (source.first.call > 0 && counted_from_1_.contains(source.first.layer)) --source.first.call;
    return source;
  }

  /// Null if the call was not made yet.
  const SymbolicTensor* find(const Json& history) const {
    const auto [place, output] = source_of(history);
    const auto call = outputs_.find(place);
    return call == outputs_.end() || output >= call->second.size() ? nullptr : &call->second[output];
  }

  SymbolicTensor tensor(const Json& history) const {
    const SymbolicTensor* found = find(history);
    check(found != nullptr, ErrorKind::data, "Functional", JsonExcerpt{history},
          " is returned by no layer - expected one that the model calls - check the text.");
    return *found;
  }

  /// Counts the missing calls of a node: those of its inputs, and the previous call of its layer.
  void wait(std::size_t index) {
    Node& node = nodes_[index];
    const auto need = [&](const Place& place) {
      if (outputs_.contains(place)) return;
      waiting_[place].push_back(index);
      ++node.missing;
    };
    for (const Json* history : node.inputs) need(source_of(*history).first);
    if (node.place.call > 0) need({node.place.layer, node.place.call - 1});
    if (node.missing == 0) ready_.emplace(0, index);
  }

  /// Nodes after this one that depend on it can be called in the same round through the layers.
  void call(std::size_t index, std::size_t round) {
    Node& node = nodes_[index];
    std::vector<SymbolicTensor> inputs;
    for (const Json* history : node.inputs) {
      const SymbolicTensor* input = find(*history);
      if (!input) return void(++node.missing);  // an output that the call does not have
      inputs.push_back(*input);
    }
    outputs_[node.place] = apply_all(node.layer, inputs);
    for (const std::size_t next : waiting_[node.place])
      if (--nodes_[next].missing == 0) ready_.emplace(next > index ? round : round + 1, next);
  }

  CallReader calls_;
  std::set<Place> known_;
  std::set<std::string, std::less<>> counted_from_1_, outputs_from_1_;
  std::vector<Node> nodes_;
  std::map<Place, std::vector<SymbolicTensor>> outputs_;
  std::map<Place, std::vector<std::size_t>> waiting_;    // the nodes that depend on a call
  std::set<std::pair<std::size_t, std::size_t>> ready_;  // round and node
};

/// The number of layers and cells in the lists of a description, of models within it, too.
std::size_t layers_in(const Json& json) {
  std::size_t count = 0;
  if (json.is_object())
    for (const char* name : {"layers", "cells"})
      if (const auto list = json.find(name); list != json.end() && list->is_array()) count += list->size();
  if (json.is_structured())
    for (const Json& each : json) count += layers_in(each);
  return count;
}

ModelPtr functional_from(const Json& config) {
  const GraphReader description(config);
  return std::make_shared<Functional>(description.tensors(config, "input_layers"),
                                      description.tensors(config, "output_layers"), options_in(config, "Functional"));
}

}  // namespace

Shape build_shape(const Model& model) {
  Shape result = *model.input_shape();
  if (result.rank() > 0 && !keeps_rows(model)) result[0] = -1;
  return result;
}

Json model_to_json(const Model& model) {
  const SharedLayers ids(model);
  if (const auto* sequential = dynamic_cast<const Sequential*>(&model))
    return model_json(false, sequential_config(*sequential));
  const auto* functional = dynamic_cast<const Functional*>(&model);
  check(functional != nullptr, ErrorKind::value, "Model", "\"", model.name(),
        "\" is of another class - expected Sequential or Functional - save its weights instead, and create it in "
        "code.");
  return model_json(true, functional_config(*functional));
}

ModelPtr model_from_json(const Json& json) {
  const SharedObjects shared;
  constexpr std::size_t most = 100'000;
  const std::size_t layers = layers_in(json);
  check(layers <= most, ErrorKind::data, "model_from_json", layers, " layers - expected at most ", most,
        " - check the text.");
  if (class_name_in(json) != "Sequential") return functional_from(config_in(json));
  const auto config = json.find("config");
  if (config == json.end() || !config->is_array()) return sequential_from(config_in(json));
  return sequential_from({{"layers", *config}});  // the form of early versions
}

}  // namespace etude
