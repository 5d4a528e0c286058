#include "etude/saving/detail/functional_config.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/layers/recurrent.hpp"
#include "etude/saving/detail/call_config.hpp"
#include "etude/saving/detail/input_config.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/op_config.hpp"

namespace etude {
namespace {

Json tensor_json(const Shape& shape, DType dtype, Json history) {
  return {{"class_name", "__keras_tensor__"},
          {"config",
           {{"shape", field_json(shape, {})},
            {"dtype", std::string(name_of(dtype))},
            {"keras_history", std::move(history)}}}};
}

/// The calls of a graph by layer; each layer's calls are in the order of their dependencies.
class Calls {
 public:
  explicit Calls(const Functional& model) {
    std::vector<SymbolicTensor> tensors = model.inputs();
    for (const SymbolicTensor& output : model.outputs()) tensors.push_back(output);
    for (const std::shared_ptr<const LayerCall>& call : calls_behind(tensors)) {
      auto& calls = calls_[call->layer];
      numbers_.emplace(call.get(), calls.size());
      calls.push_back(call);
    }
  }

  const std::vector<std::shared_ptr<const LayerCall>>& of(const LayerPtr& layer) const { return calls_.at(layer); }

  /// The shape of the only input of a layer that has one, in its first call.
  std::optional<Shape> only_shape(const LayerPtr& layer) const {
    const auto& inputs = of(layer).front()->inputs;
    return inputs.size() == 1 ? std::optional(inputs.front().shape()) : std::nullopt;
  }

  Json history(const SymbolicTensor& tensor) const {
    return {tensor.name(), numbers_.at(tensor.call().get()), tensor.output()};
  }
  /// The same in a list of outputs, where Keras 3 counts the calls of a Functional model from 1.
  Json output(const SymbolicTensor& tensor) const {
    const LayerCall& call = *tensor.call();
    const std::size_t first = dynamic_cast<const Functional*>(call.layer.get()) ? 1 : 0;
    return {tensor.name(), numbers_.at(&call) + first, tensor.output()};
  }
  Json tensor(const SymbolicTensor& tensor) const {
    return tensor_json(tensor.shape(), tensor.dtype(), history(tensor));
  }

 private:
  std::map<LayerPtr, std::vector<std::shared_ptr<const LayerCall>>> calls_;
  std::unordered_map<const LayerCall*, std::size_t> numbers_;
};

/// The masks of calls on initial states as ops, for Keras 3: such a call uses no other mask than its argument.
class MaskOps {
 public:
  /// `layers` describes the layers of the calls.
  MaskOps(const Json& layers, const Calls& calls) : calls_(calls) {
    for (const Json& layer : layers) layers_.emplace(layer["name"].get<std::string>(), &layer);
  }

  /// Adds the mask of its input to a call, if layers create it and pass it on unchanged.
  void add_to(Json& node, const LayerCall& call) {
    const LayerCall* creator = creator_of(call.inputs.front());
    if (!creator) return;
    const auto [number, is_new] = numbers_.emplace(creator, masks_.size());
    if (is_new) masks_.push_back(mask_created_by(*creator));
    node["kwargs"]["mask"] = masks_[number->second];
  }

  /// The layers of the ops. Each has a member "etude".
  Json take() { return std::move(ops_); }

 private:
  const Json& described(const LayerCall& call) const { return *layers_.at(call.layer->name()); }

  bool creates(const LayerCall& call) const {
    const Json& json = described(call);
    return class_name_in(json) == "Masking" || member_in(config_in(json), "mask_zero") == true;
  }

  /// Whether the first output of a call has the mask of the first input.
  static bool passes_mask(const LayerCall& call) {
    const Layer& layer = *call.layer;
    if (const Recurrent* recurrent = started_by(layer)) return recurrent->returns_sequences();
    return call.inputs.size() == 1 && layer.supports_masking() && !layer.is_operation() &&
           !dynamic_cast<const Model*>(&layer) && !layer.class_name().starts_with("Global") && has_same_steps(call);
  }

  static bool has_same_steps(const LayerCall& call) {
    const SymbolicTensor& x = call.inputs.front();
    const auto& before = x.call()->outputs[x.output()];
    const auto& after = call.outputs.front();
    const auto same = [](const Shape& a, const Shape& b) {
      return a.rank() > 2 && b.rank() > 2 && a.slice(0, 2) == b.slice(0, 2);
    };
    return same(before.of_one, after.of_one) && same(before.of_longer, after.of_longer);
  }

  const LayerCall* creator_of(SymbolicTensor x) const {
    while (!creates(*x.call())) {
      if (x.call()->inputs.empty() || x.output() > 0 || !passes_mask(*x.call())) return nullptr;
      x = SymbolicTensor(x.call()->inputs.front());
    }
    return x.call().get();
  }

  /// The mask as a tensor, whose ops are added.
  Json mask_created_by(const LayerCall& call) {
    const SymbolicTensor& x = call.inputs.front();
    const Json& json = described(call);
    Json differs = parse_json(R"({"class_name": "NotEqual", "config": {}})", "");
    const Json number = config_in(json).value("mask_value", Json(0));
    const Json mask = add_op(std::move(differs), call, x.shape(), Json::array({calls_.tensor(x), number}));
    if (class_name_in(json) != "Masking") return mask;
    Json any = parse_json(R"({"class_name": "Any", "config": {"axis": -1, "keepdims": false}})", "");
    return add_op(std::move(any), call, x.shape().slice(0, x.shape().rank() - 1), Json::array({mask}));
  }

  /// Adds an op with its class and its config. Returns its result.
  Json add_op(Json op, const LayerCall& call, const Shape& shape, Json arguments) {
    std::string name = call.layer->name() + "_mask";
    while (layers_.contains(name)) name += '_';
    layers_[name] = nullptr;
    op["module"] = "keras.src.ops.numpy";
    op["registered_name"] = op["class_name"];
    op["etude"] = {{"is_mask", true}};
    op["name"] = op["config"]["name"] = name;
    Json& node = op["inbound_nodes"][0];
    node["args"] = std::move(arguments);
    node["kwargs"] = Json::object();
    ops_.push_back(std::move(op));
    return tensor_json(shape, DType::boolean, {name, 0, 0});
  }

  const Calls& calls_;
  std::map<std::string, const Json*> layers_;                  // by name; null for an op of a mask
  std::unordered_map<const LayerCall*, std::size_t> numbers_;  // of the masks of calls
  Json masks_ = Json::array(), ops_ = Json::array();
};

/// Adds the masks that are arguments of calls in Keras 3.
void add_masks(Json& layers, const Functional& model, const Calls& calls) {
  MaskOps masks(layers, calls);
  const std::vector<LayerPtr> called = model.layers();
  for (std::size_t i = 0; i < called.size(); ++i) {
    Json& nodes = layers[i]["inbound_nodes"];
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (nodes[k].contains("etude")) masks.add_to(nodes[k], *calls.of(called[i])[k]);
  }
  for (Json& op : masks.take()) layers.push_back(std::move(op));
}

}  // namespace

Json layer_json(const Layer& layer, const std::optional<Shape>& input) {
  Json json = object_to_json<Layer>(layer);
  if (input && !dynamic_cast<const Functional*>(&layer))
    json["build_config"] = {{"input_shape", field_json(*input, {})}};
  return json;
}

Json functional_config(const Functional& model) {
  const Calls calls(model);
  Json config = {{"name", model.name()}, {"trainable", model.trainable()}, {"layers", Json::array()}};
  for (const LayerPtr& layer : model.layers()) {
    const auto& of_layer = calls.of(layer);
    const auto* op = dynamic_cast<const Operation*>(layer.get());
    check(!op || of_layer.size() == 1, ErrorKind::value, "Functional", "the op \"", layer->name(), "\", called ",
          of_layer.size(), " times - expected one call of each op - apply an op, or a layer, for each.");
    Json json = of_layer.front()->inputs.empty() ? input_layer_json({of_layer.front(), 0})
                : op                             ? op_to_json(*op)
                                                 : layer_json(*layer, calls.only_shape(layer));
    json["name"] = layer->name();
    json["inbound_nodes"] = Json::array();
    for (const auto& call : of_layer) {
      Json inputs = Json::array();
      for (const SymbolicTensor& input : call->inputs) inputs.push_back(calls.tensor(input));
      if (inputs.empty()) continue;
      json["inbound_nodes"].push_back(op ? op_node(*op, inputs) : call_json(*layer, std::move(inputs)));
    }
    config["layers"].push_back(std::move(json));
  }
  add_masks(config["layers"], model, calls);
  const auto histories = [&](const std::vector<SymbolicTensor>& tensors, const std::vector<std::string>& names) {
    Json all = Json::array();
    for (const SymbolicTensor& tensor : tensors) all.push_back(calls.output(tensor));
    return by_name_or_listed(std::move(all), names);
  };
  config["input_layers"] = histories(model.inputs(), model.input_keys());
  config["output_layers"] = histories(model.outputs(), model.output_keys());
  return config;
}

}  // namespace etude
