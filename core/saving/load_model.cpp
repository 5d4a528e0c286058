#include "etude/saving/load_model.hpp"

#include "etude/base/error.hpp"
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

void check_weights_file(const std::string& path, std::string_view where) {
  check(path.ends_with(".safetensors"), ErrorKind::value, where, '"', path,
        "\" - expected a name that ends with .safetensors - choose one.");
}

void check_built(const Model& model, std::string_view where) {
  check(model.built(), ErrorKind::state, where, '"', model.name(),
        "\" has no weights yet - expected a model that is built - call build() or fit() first.");
}

}  // namespace

void Model::save(const std::string& folder) const {
  check_built(*this, "Model.save");
  const Json config = {
      {"model", model_to_json(*this)}, {"compile", compile_to_json(*this)}, {"draws", draws_of(*this)}};
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

ModelPtr load_model(const std::string& folder, const LoadModelOptions& options) {
  const std::optional<Checkpoint> checkpoint = load_newest_checkpoint(folder);
  check(checkpoint.has_value(), ErrorKind::io, "load_model", '"', folder,
        "\" holds no model - expected a folder that Model::save wrote - check the path.");
  const Json config = parse_json(checkpoint->document("config"), folder + "/config.json");
  check(config.is_object() && config.contains("model"), ErrorKind::data, "load_model", '"', folder,
        "\" holds a checkpoint without a model - expected one that Model::save wrote - load it by what wrote it.");
  const ModelPtr model = model_from_json(config["model"]);
  assign_all(named_weights(*model), checkpoint->group("model"), "load_model");
  assign_all(named_states(*model), checkpoint->group("states"), "load_model");
  restore_draws(*model, config.value("draws", Json()), "load_model");
  const bool compiled = config.contains("compile") && !config["compile"].is_null();
  if (!options.compile || !compiled) return model;
  compile_from_json(*model, config["compile"]);
  restore(model->optimizer(), *model, checkpoint->group("optimizer"));
  return model;
}

ModelPtr model_from_json(std::string_view text) {
  const Json json = parse_json(text, "config");
  check(is_model_class(class_name_in(json)), ErrorKind::value, "model_from_json", "class \"", class_name_in(json),
        "\" - expected Sequential or Functional - make layers by from_json<Layer>().");
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
