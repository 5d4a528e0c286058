#include "etude/saving/detail/save_model.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/detail/checkpoint_format.hpp"
#include "etude/saving/detail/format_functions.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/training/detail/compiled_trainable.hpp"

namespace etude {
namespace {

/// "keras" for "a/b.keras"; "" for "a.b/c".
std::string ending_of(const std::string& path) {
  const std::size_t point = path.find_last_of("./");
  std::string ending = point == path.npos || path[point] == '/' ? "" : path.substr(point + 1);
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return ending;
}

/// Adds the trainable flags that compile() saw of the model and each layer inside, if they differ from the current
/// ones.
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

void check_in_layers(const Model& model) {
  check(model.own_weights().empty(), ErrorKind::value, "Model.save", '"', model.name(), "\" has the variable \"",
        model.own_weights().empty() ? "" : model.own_weights().front().name(),
        "\" outside its layers, which no config describes - expected weights of layers only - save the weights "
        "by save_weights() and create the model in code.");
}

/// The variables that the optimizer of the loaded model will have, in its order.
std::vector<Variable> optimizer_variables(const Model& model) {
  const CompiledTrainable trainable(model.compiled_trainable());
  const std::vector<Variable> others = model.optimizer().sort_slots(model.trainable_variables());
  return without(model.optimizer().variables(), others);
}

/// Saves a model to a folder of one checkpoint.
void save_folder(const Model& model, const std::string& folder, WriteCount& count) {
  Checkpoint checkpoint{.step = 0, .tensors = {}, .documents = {{"config", saved_config(model)}}};
  std::vector<StoredGroup> groups{{"model", stored_values_of(named_weights(model), &count)},
                                  {"states", stored_values_of(named_states(model), &count)}};
  if (model.compiled()) {
    checkpoint.step = model.optimizer().iterations();
    groups.push_back({"optimizer", stored_values_of(numbered(optimizer_variables(model)), &count)});
  }
  count.expect_twice();
  CheckpointStore(folder, {.keep_newest = 1}).save(checkpoint, groups);
}

}  // namespace

std::string saved_config(const Model& model) {
  check_in_layers(model);
  Json config = {{"model", model_to_json(model)}, {"compile", compile_to_json(model)}, {"draws", draws_of(model)}};
  if (model.compiled()) add_flags_at_compile(model, model.compiled_trainable(), config);
  return json_text(config, 2);
}

void check_built(const Model& model, std::string_view where) {
  check(model.built(), ErrorKind::state, where, '"', model.name(),
        "\" has no weights yet - expected a built model - call build() or fit() first.");
}

void check_may_write(const std::string& path, const SaveOptions& options, std::string_view where) {
  check(options.overwrite || !vfs_or_host({}, where)->exists(path), ErrorKind::io, where, '"', path,
        "\" exists - expected a new name, because overwrite is false - choose another name, or leave overwrite out.");
}

void save_model(const Model& model, const std::string& folder, const SaveOptions& options) {
  check_saves_to(folder, "Model.save");
  check_built(model, "Model.save");
  check_may_write(folder, options, "Model.save");
  check_in_layers(model);
  WriteCount count(options.progress);
  if (ending_of(folder) == "keras")
    functions_of(FileFormat::keras).save(model, folder, count);
  else if (ending_of(folder) == "json")
    functions_of(FileFormat::tfjs).save(model, folder, count);
  else
    save_folder(model, folder, count);
  count.finish();
}

void check_is_path(const std::string& path, std::string_view where) {
  check(path.find("://") == path.npos, ErrorKind::value, where, '"', path,
        "\" - expected the path of a file or folder - ", "remove the scheme before the path.");
}

void check_saves_to(const std::string& folder, std::string_view where) {
  constexpr std::array others{"h5", "hdf5", "safetensors", "npz", "onnx", "tflite", "pt", "pth", "zip"};
  check_is_path(folder, where);
  const std::string ending = ending_of(folder);
  check(std::ranges::find(others, ending) == others.end(), ErrorKind::value, where, '"', folder,
        "\" - expected the name of a folder, or one that ends with .keras or .json - remove .", ending,
        ", or save only the weights by save_weights().");
}

}  // namespace etude
