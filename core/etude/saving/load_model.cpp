#include "etude/saving/load_model.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/checkpoint_writes.hpp"
#include "etude/saving/model_config.hpp"
#include "etude/saving/model_state.hpp"
#include "etude/saving/registry.hpp"

namespace etude {
namespace {

void restore(Optimizer& optimizer, const Model& model, const std::vector<NamedTensor>& tensors) {
  if (optimizer.variables().size() != tensors.size()) optimizer.build(model.trainable_variables());
  assign_all(numbered(optimizer.variables()), tensors, "load_model optimizer");
}

/// "keras" for "a/b.keras"; "" for "a.b/c".
std::string ending_of(const std::string& path) {
  const std::size_t point = path.find_last_of("./");
  std::string ending = point == path.npos || path[point] == '/' ? "" : path.substr(point + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

void check_weights_file(const std::string& path, std::string_view where) {
  check_is_path(path, where);
  check(path.ends_with(".safetensors"), ErrorKind::value, where, '"', path,
        "\" - expected a name that ends with .safetensors, the one format of weights alone - choose one.");
}

using Flags = std::vector<std::pair<Layer*, bool>>;

/// Whether it and each layer inside is trainable.
Flags trainable_flags(Model& model) {
  Flags flags{{&model, model.trainable()}};
  for (const LayerPtr& layer : model.layers_inside()) flags.emplace_back(layer.get(), layer->trainable());
  return flags;
}
void set_trainable(const Flags& flags) {
  for (const auto& [layer, trainable] : flags) layer->set_own_trainable(trainable);
}

/// Adds what compile() saw of it and each layer inside, if that is not what they are now.
void add_flags_at_compile(const Model& model, const std::vector<std::pair<LayerPtr, bool>>& compiled, Json& config) {
  std::map<const Layer*, bool> seen;
  for (const auto& [layer, trainable] : compiled) seen.emplace(layer.get(), trainable);
  Json flags = Json::array();
  bool differ = false;
  const auto add = [&](const Layer& layer) {
    flags.push_back(seen.emplace(&layer, layer.trainable()).first->second);
    differ |= flags.back() != layer.trainable();
  };
  add(model);
  for (const LayerPtr& layer : model.layers_inside()) add(*layer);
  if (differ) config["compiled_trainable"] = std::move(flags);
}

/// Compiles it as it was: trainable was then what compile() saw.
void compile_again(Model& model, const Json& config, const std::vector<NamedTensor>& optimizer) {
  const Flags now = trainable_flags(model);
  if (config.contains("compiled_trainable")) {
    const Json& seen = config["compiled_trainable"];
    check(seen.is_array() && seen.size() == now.size(), ErrorKind::data, "load_model", "\"compiled_trainable\" of ",
          seen.size(), " - expected an array of ", now.size(), " - the folder is damaged.");
    for (std::size_t i = 0; i < now.size(); ++i) {
      bool trainable = true;
      read_field(seen[i], trainable, {"load_model", "compiled_trainable"});
      now[i].first->set_own_trainable(trainable);
    }
  }
  compile_from_json(model, config["compile"]);
  restore(model.optimizer(), model, optimizer);
  set_trainable(now);
}

void check_built(const Model& model, std::string_view where) {
  check(model.built(), ErrorKind::state, where, '"', model.name(),
        "\" has no weights yet - expected a model that is built - call build() or fit() first.");
}

}  // namespace

void Model::save(const std::string& folder) const {
  check_saves_to(folder, "Model.save");
  check_built(*this, "Model.save");
  check(own_weights().empty(), ErrorKind::value, "Model.save", '"', name(), "\" has the variable \"",
        own_weights().empty() ? "" : own_weights().front().name(),
        "\" of its own, which no config describes - expected weights that belong to its layers - save its weights "
        "instead, by save_weights(), and make it in code.");
  Json config = {{"model", model_to_json(*this)}, {"compile", compile_to_json(*this)}, {"draws", draws_of(*this)}};
  if (compiled()) add_flags_at_compile(*this, compiled_trainable_, config);
  Checkpoint checkpoint{
      .step = 0,
      .tensors = {{"model", values_of(named_weights(*this))}, {"states", values_of(named_states(*this))}},
      .documents = {{"config", json_text(config, 2)}}};
  if (compiled()) {
    checkpoint.step = optimizer().iterations();
    checkpoint.tensors.push_back({"optimizer", values_of(numbered(optimizer().variables()))});
  }
  CheckpointStore(folder, {.keep_newest = 1}).save(checkpoint);
}

namespace {

/// The model of a config. Its weights and states have no values yet.
ModelPtr without_values(const Json& json) {
  check(is_model_class(class_name_in(json)), ErrorKind::data, "load_model", "class \"", class_name_in(json),
        "\" - expected Sequential or Functional - the folder was not written by Model::save.");
  const UnsetVariables scope;
  return model_from_json(json);
}

}  // namespace

ModelPtr load_model(const std::string& folder, const LoadModelOptions& options) {
  if (host().files && host().files->kind(folder) != PathKind::folder) check_saves_to(folder, "load_model");
  const std::optional<Checkpoint> checkpoint = load_newest_checkpoint(folder);
  check(checkpoint.has_value(), ErrorKind::io, "load_model", '"', folder,
        "\" holds no model - expected a folder that Model::save wrote - check the path.");
  const Json config = parse_json(checkpoint->document("config"), folder + "/config.json");
  check(config.is_object() && config.contains("model"), ErrorKind::data, "load_model", '"', folder,
        "\" holds a checkpoint without a model - expected one that Model::save wrote - load it by what wrote it.");
  const ModelPtr model = without_values(config["model"]);
  assign_all(named_weights(*model), checkpoint->group("model"), "load_model");
  assign_all(named_states(*model), checkpoint->group("states"), "load_model");
  restore_draws(*model, config.value("draws", Json()), "load_model");
  const bool compiled = config.contains("compile") && !config["compile"].is_null();
  if (!options.compile || !compiled) return model;
  compile_again(*model, config, checkpoint->group("optimizer"));
  return model;
}

void check_is_path(const std::string& path, std::string_view where) {
  check(path.find("://") == path.npos, ErrorKind::value, where, '"', path,
        "\" - expected the path of a file or folder: there is no other storage - ",
        "leave out what stands before the path.");
}

void check_saves_to(const std::string& folder, std::string_view where) {
  constexpr std::array others{"keras", "h5",     "hdf5", "safetensors", "json", "npz",
                              "onnx",  "tflite", "pt",   "pth",         "zip"};
  check_is_path(folder, where);
  const std::string ending = ending_of(folder);
  check(std::ranges::find(others, ending) == others.end(), ErrorKind::value, where, '"', folder,
        "\" - expected the name of a folder: models are saved to folders, and to no other format yet - leave out .",
        ending, ", or save the weights alone to a .safetensors file.");
}

ModelPtr model_from_json(std::string_view text) {
  const Json json = parse_json(text, "config");
  check(is_model_class(class_name_in(json)), ErrorKind::value, "model_from_json", "class \"", class_name_in(json),
        "\" - expected Sequential or Functional", " - make layers by from_json<Layer>().");
  return model_from_json(json);
}

void Model::save_weights(const std::string& path) const {
  check_weights_file(path, "save_weights");
  check_built(*this, "save_weights");
  const CheckpointWriteTimer timer;
  save_safetensors(path, {values_of(named_weights(*this))});
}

void Model::load_weights(const std::string& path) {
  check_weights_file(path, "load_weights");
  check_built(*this, "load_weights");
  assign_all(named_weights(*this), load_safetensors(path).tensors, "load_weights \"" + path + '"');
}

}  // namespace etude
