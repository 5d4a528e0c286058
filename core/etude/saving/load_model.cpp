#include "etude/saving/load_model.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/format_functions.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/reading.hpp"
#include "etude/saving/detail/save_model.hpp"

namespace etude {
namespace {

/// A group, which the checkpoint loses, so that its memory is free when it is assigned.
std::vector<NamedTensor> take(Checkpoint& checkpoint, std::string_view group) {
  static_cast<void>(checkpoint.group(group));  // throws if there is none
  return std::move(std::ranges::find(checkpoint.tensors, group, &TensorGroup::name)->tensors);
}

void restore(Optimizer& optimizer, const Model& model, std::vector<NamedTensor> tensors) {
  if (optimizer.variables().size() != tensors.size()) optimizer.build(model.trainable_variables());
  assign_all(numbered(optimizer.variables()), std::move(tensors), "load_model optimizer");
}

using Flags = std::vector<std::pair<Layer*, bool>>;

/// The trainable flags of the model and of each layer inside.
Flags trainable_flags(Model& model) {
  Flags flags{{&model, model.trainable()}};
  for (const LayerPtr& layer : model.layers_inside()) flags.emplace_back(layer.get(), layer->trainable());
  return flags;
}
void set_trainable(const Flags& flags) {
  for (const auto& [layer, trainable] : flags) layer->set_own_trainable(trainable);
}

/// Compiles the model with the trainable flags that compile() saw when the model was compiled.
void compile_again(Model& model, const Json& config, std::vector<NamedTensor> optimizer) {
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
  restore(model.optimizer(), model, std::move(optimizer));
  set_trainable(now);
}

/// The model of a config. Its weights and states have no values yet.
ModelPtr without_values(const Json& json) {
  check(is_model_class(class_name_in(json)), ErrorKind::data, "load_model", "class \"", class_name_in(json),
        "\" - expected Sequential or Functional - the folder was not written by Model::save.");
  const UnsetVariables scope;
  return model_from_json(json);
}

constexpr std::string_view expected =
    "the folder of a saved model, a .keras file, an .h5 file of Keras 2, or a model.json of TensorFlow.js";

/// A model that is a file, or that is missing and has a file's name.
Task<ModelPtr> load_file(const std::string& path, FileFormat format, bool compile, Reading& reading) {
  const auto load = functions_of(format).load;
  if (!load) refuse_format(format, path, "load_model", expected);
  const ModelPtr model = co_await load(path, compile, reading);
  clear_states(*model, "load_model");
  co_return model;
}

/// Whether a folder with this format has the files of another library, which say so better than a missing checkpoint.
bool is_foreign(FileFormat format) {
  return format == FileFormat::saved_model || format == FileFormat::tf_checkpoint || format == FileFormat::tfjs;
}

ModelPtr load_folder(const std::string& folder, bool compile, Reading& reading) {
  const FilesScope scope(reading.files());
  std::optional<Checkpoint> checkpoint = load_newest_checkpoint(folder);
  check(checkpoint.has_value(), ErrorKind::io, "load_model", '"', folder,
        "\" holds no model - expected a folder that Model::save wrote - check the path.");
  const Json config = parse_json(checkpoint->document("config"), folder + "/config.json");
  check(config.is_object() && config.contains("model"), ErrorKind::data, "load_model", '"', folder,
        "\" holds a checkpoint without a model - expected one that Model::save wrote - load it with the API that saved "
        "it.");
  const ModelPtr model = without_values(config["model"]);
  assign_all(named_weights(*model), take(*checkpoint, "model"), "load_model", reading.take_progress());
  assign_all(named_states(*model), take(*checkpoint, "states"), "load_model");
  restore_draws(*model, member_in(config, "draws"), "load_model");
  const bool compiled = config.contains("compile") && !config["compile"].is_null();
  if (compile && compiled) compile_again(*model, config, take(*checkpoint, "optimizer"));
  return model;
}

}  // namespace

Task<ModelPtr> load_model_task(std::string folder, LoadModelOptions options) {
  check_is_path(folder, "load_model");
  Reading reading(vfs_or_host(options.files, "load_model"), options.progress);
  const PathKind kind = reading.files()->kind_through_links(folder);
  FileFormat format = FileFormat::unknown;
  auto looking = [&] { format = format_of(folder, *reading.files()); };
  co_await reading.run(looking);
  const bool is_missing = kind == PathKind::none && format == FileFormat::unknown;
  if (is_missing) check_saves_to(folder, "load_model");
  if (is_missing || (kind == PathKind::folder && !is_foreign(format)))
    co_return load_folder(folder, options.compile, reading);
  if (kind == PathKind::folder) refuse_format(format, folder, "load_model", expected);
  co_return co_await load_file(folder, format, options.compile, reading);
}

ModelPtr load_model(const std::string& folder, const LoadModelOptions& options) {
  return load_model_task(folder, options).get();
}

ModelPtr load_model(std::span<const std::byte> bytes, const LoadModelOptions& options) {
  return load_model("model",
                    {.compile = options.compile, .files = files_with("model", bytes), .progress = options.progress});
}

Task<std::map<std::string, std::shared_ptr<StringLayer>>> load_string_layers_task(std::string path,
                                                                                  LoadStringLayersOptions options) {
  check_is_path(path, "load_string_layers");
  Reading reading(vfs_or_host(options.files, "load_string_layers"));
  std::map<std::string, std::shared_ptr<StringLayer>> layers;
  auto loading = [&] { layers = functions_of(FileFormat::keras).load_strings(path); };
  co_await reading.run(loading);
  co_return layers;
}

std::map<std::string, std::shared_ptr<StringLayer>> load_string_layers(const std::string& path,
                                                                       const LoadStringLayersOptions& options) {
  return load_string_layers_task(path, options).get();
}

std::map<std::string, std::shared_ptr<StringLayer>> load_string_layers(std::span<const std::byte> bytes) {
  return load_string_layers("model", {.files = files_with("model", bytes)});
}

ModelPtr model_from_json(std::string_view text) { return compiled_from_json(parse_json(text, "config")); }

}  // namespace etude
