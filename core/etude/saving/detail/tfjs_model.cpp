#include "etude/saving/detail/tfjs_model.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/layers/symbolic.hpp"
#include "etude/saving/detail/call_config.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/keras2_activation.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/shared_objects.hpp"
#include "etude/saving/detail/tfjs_form.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"

namespace etude {
namespace {

/// Names weights as the scopes of tfjs-layers do: a layer has one of its name, also within a model; of the layers
/// within a layer, only those of Bidirectional and StackedRNNCells have one. Sources: engine/topology.ts,
/// layers/wrappers.ts and layers/recurrent.ts in tfjs-layers/src.
class Names {
 public:
  explicit Names(const Model& model) { add(model, ""); }

  std::vector<NamedVariable> weights;

 private:
  void add(const Layer& layer, const std::string& scope) {
    if (!seen_.insert(&layer).second) return;
    for (const Variable& variable : layer.own_weights()) {
      const std::string name = variable.name().substr(variable.name().rfind('/') + 1);
      const bool is_depthwise = layer.class_name() == "DepthwiseConv2D" && name == "kernel";
      weights.push_back({scope + (is_depthwise ? "depthwise_" : "") + name, variable});
    }
    const bool is_model = dynamic_cast<const Model*>(&layer);
    const std::vector<LayerPtr> inside = layer.layers();
    for (std::size_t i = 0; i < inside.size(); ++i)
      add(*inside[i], is_model ? inside[i]->name() + '/' : scope + scope_within(layer, i, inside[i]->name()));
  }

  static std::string scope_within(const Layer& layer, std::size_t i, const std::string& name) {
    if (layer.class_name() == "StackedRNNCells") return "RNNCell_" + std::to_string(i) + '/';
    if (layer.class_name() != "Bidirectional") return "";
    const std::string direction = i == 0 ? "forward_" : "backward_";
    return (name.starts_with(direction) ? "" : direction) + name + '/';
  }

  std::set<const Layer*> seen_;
};

/// The description of the model, with its training_config.
Json description_in(const Json& json, const std::string& path) {
  check(json.is_object() && text_in(json, "format") != "graph-model", ErrorKind::value, "load_model", '"', path,
        "\" is a graph model of TensorFlow.js, without layers - expected a layers model - convert the original model "
        "of Keras.");
  const Json& whole = member_in(json, "modelTopology");
  const bool is_inside = !whole.contains("class_name") && whole.contains("model_config");
  const Json& model = is_inside ? whole["model_config"] : whole;
  check(model.contains("class_name") && describes_model(model), ErrorKind::data, "load_model", '"', path,
        "\" has no model as its \"modelTopology\" - expected a Sequential or Functional one ",
        "- save it again, or load its weights by load_weights.");
  Json topology = read_tfjs_topology(model);
  const std::string& version = text_in(whole, "keras_version");
  rename_activations(topology, version.empty() ? "tfjs-layers" : version);
  const Json& training = member_in(json, "trainingConfig");
  const Json& used = training.is_null() && is_inside ? member_in(whole, "training_config") : training;
  if (!used.is_null()) topology["training_config"] = used;
  return topology;
}

/// The names of the weights in a manifest that belong to an optimizer.
std::set<std::string> optimizer_weights(const Json& manifest) {
  std::set<std::string> names;
  if (!manifest.is_array()) return names;
  for (const Json& group : manifest) {
    const Json& weights = member_in(group, "weights");
    if (!weights.is_array()) continue;
    for (const Json& weight : weights)
      if (text_in(weight, "group") == "optimizer") names.insert(text_in(weight, "name"));
  }
  return names;
}

/// A file, and the model that it describes, whose weights have no values yet.
struct TfjsFile {
  TfjsFile(std::string_view text, const std::string& path) {
    const Json json = parse_json(text, path);
    description = description_in(json, path);
    manifest = member_in(json, "weightsManifest");
    optimizer = optimizer_weights(manifest);
    const SharedObjects shared;
    const UnsetVariables scope;
    model = model_from_json(description);
    check(model->built(), ErrorKind::data, "load_model", '"', path,
          "\" has no shapes of the inputs - expected a model that was built before it was saved - save it again.");
  }

  Json description, manifest;
  std::set<std::string> optimizer;  ///< the names of its weights
  ModelPtr model;
};

/// The name without its last scope: TensorFlow names the cell of a recurrent layer, "lstm/lstm_cell/kernel".
std::string without_cell(const std::string& name) {
  const std::size_t last = name.rfind('/');
  const std::size_t before = last == name.npos || last == 0 ? name.npos : name.rfind('/', last - 1);
  return before == name.npos ? name : name.substr(0, before) + name.substr(last);
}

Task<> assign_weights(const Model& model, std::vector<StoredTensor> tensors, Reading& reading) {
  const std::vector<NamedVariable> weights = named_tfjs_weights(model);
  std::set<std::string_view> known;
  for (const NamedVariable& weight : weights) known.insert(weight.name);
  for (StoredTensor& tensor : tensors)
    if (!known.contains(tensor.name)) tensor.name = without_cell(tensor.name);
  return assign_all(weights, std::move(tensors), "load_model", reading);
}

/// The names of the files with the weights of the model at `path` that Étude saved; none if there is no such model.
std::vector<std::string> shards_of(Vfs& files, const std::string& path, const std::string& prefix) {
  std::vector<std::string> names;
  if (files.kind(path) != PathKind::file) return names;
  try {
    const std::vector<std::byte> bytes = files.read(path);
    const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
    for (const Json& group : json.at("weightsManifest"))
      for (const Json& name : group.at("paths")) {
        const auto& text = name.get_ref<const std::string&>();
        if (text.starts_with(prefix + "group1-shard") && text.find('/') == text.npos) names.push_back(text);
      }
  } catch (const std::exception&) {
    names.clear();  // another file, which is replaced
  }
  return names;
}

/// Whether a file has this text. A failure to read it counts as yes.
bool has_text(Vfs& files, const std::string& path, std::string_view text) {
  try {
    return files.kind(path) == PathKind::file &&
           std::ranges::equal(files.read(path), std::as_bytes(std::span(text.data(), text.size())));
  } catch (const std::exception&) {
    return true;
  }
}

void discard_files(Vfs& files, const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (files.kind(folder + '/' + name) == PathKind::file) files.discard(folder + '/' + name);
}

/// The first recurrent layer whose results differ in TensorFlow.js if there is a mask; null without one.
/// TensorFlow.js always uses the mask beside initial states, and passes initial states on to later recurrent layers.
const Layer* differently_started(const Model& model) {
  bool started = false;
  std::vector<LayerPtr> parts;  // of Bidirectional
  for (const LayerPtr& layer : model.layers_inside()) {
    const Recurrent* recurrent = started_by(*layer);
    if (!recurrent || std::ranges::find(parts, layer) != parts.end()) continue;
    if (started || !recurrent->uses_mask_with_states()) return layer.get();
    for (const auto& call : layer->calls()) started |= call->inputs.size() > 1;
    parts = layer->layers();
  }
  return nullptr;
}

/// TensorFlow.js averages masked steps, too, and gives the last mask to all later layers, also after a layer that drops
/// it.
void warn_of_masks(std::string_view text, const Model& model, const std::string& path) {
  const auto has = [&](const std::string& part) { return text.find(part) != text.npos; };
  if (!has("\"Masking\"") && !has("\"mask_zero\":true")) return;
  const Layer* started = differently_started(model);
  std::string differs = started ? '"' + started->name() + '"' : "";
  for (const char* name :
       {"GlobalAveragePooling1D", "Conv1D", "MaxPooling1D", "AveragePooling1D", "Permute", "Reshape", "RepeatVector"})
    if (differs.empty() && has(std::string("\"class_name\":\"") + name + '"')) differs = name;
  if (!differs.empty())
    print_warning({}, "[Model.save] \"" + path + "\": TensorFlow.js treats masks otherwise in " + differs +
                          " and in the layers after it: compare its results.");
}

/// Whether TensorFlow.js accepts a weight's name: ^[A-Za-z0-9][-A-Za-z0-9._/]*$ in common.ts of tfjs-layers.
bool is_tfjs_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const auto is_any = [&](char c) { return is_letter(c) || c == '-' || c == '.' || c == '_' || c == '/'; };
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, is_any);
}

}  // namespace

std::vector<NamedVariable> named_tfjs_weights(const Model& model) {
  static_cast<void>(model.layers_inside());  // throws if they are nested too deep
  std::vector<NamedVariable> weights = Names(model).weights;
  return weights;
}

void save_tfjs(const Model& model, const std::string& path, WriteCount& count) {
  Json topology = tfjs_topology(model_to_json(model));  // throws before there is a file
  const std::vector<NamedVariable> weights = named_tfjs_weights(model);
  std::set<std::string_view> names;
  for (const NamedVariable& weight : weights) {
    check(is_tfjs_name(weight.name), ErrorKind::value, "Model.save", "the weight \"", weight.name,
          "\" - expected letters of ASCII, digits, -, ., _ and /, and a letter or a digit first, for TensorFlow.js - "
          "give the layer another name.");
    check(names.insert(weight.name).second, ErrorKind::value, "Model.save", "two weights \"", weight.name,
          "\", for two layers of that name are in models within the model - expected unique names of layers - give "
          "the layers other names.");
  }
  const std::shared_ptr<Vfs> files = vfs_or_host({}, "Model.save");
  const std::string folder = parent_of(path);
  files->make_folders(folder);
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::string prefix = file == "model.json" ? "" : file.substr(0, file.rfind('.') + 1);
  // The previous model stays complete until this one is.
  std::vector<std::string> previous = shards_of(*files, path, prefix);
  Json manifest = write_tfjs_shards(stored_values_of(weights, &count), folder, *files, prefix);
  const auto shards = manifest[0]["paths"].get<std::vector<std::string>>();
  Json json = {{"format", "layers-model"},
               {"generatedBy", "etude"},
               {"convertedBy", nullptr},
               {"modelTopology", std::move(topology)},
               {"weightsManifest", std::move(manifest)}};
  const std::string text = json_text(json);
  warn_of_masks(text, model, path);
  try {
    files->replace(path, {text});
  } catch (...) {
    if (!has_text(*files, path, text)) discard_files(*files, folder, shards);
    throw;
  }
  std::erase_if(previous, [&](const std::string& name) { return std::ranges::find(shards, name) != shards.end(); });
  discard_files(*files, folder, previous);
}

Task<ModelPtr> load_tfjs(const std::string& path, bool compile, Reading& reading) {
  std::string text;
  auto describing = [&] { text = json_text_in(*reading.files()->source(path), path); };
  co_await reading.run(describing);
  const TfjsFile file(text, path);
  const ModelPtr& model = file.model;
  const auto wanted = [&](const std::string& name) { return !file.optimizer.contains(name); };
  co_await assign_weights(*model, tfjs_weights(file.manifest, path, reading.files(), wanted), reading);
  if (!compile) co_return model;
  compile_as_described(*model, file.description);
  if (model->compiled() && !file.optimizer.empty())
    print_warning({}, spelled("[load_model] \"") + path + "\": the state of the optimizer \"" +
                          model->optimizer().name() +
                          "\" is not restored: it is in the format of TensorFlow.js. It starts anew.");
  co_return model;
}

std::function<std::string(const std::string&)> tfjs_weight_names(std::string_view text, const std::string& path) {
  std::map<std::string, std::string> names;
  try {
    const TfjsFile file(text, path);
    std::map<const void*, std::string> paths;
    for (const auto& [name, variable] : named_weights(*file.model)) paths.emplace(variable.id(), name);
    for (const auto& [name, variable] : named_tfjs_weights(*file.model)) names.emplace(name, paths.at(variable.id()));
    for (const std::string& name : file.optimizer) names.emplace(name, "");
  } catch (const Error&) {  // the file may describe a model that Étude lacks
    names.clear();
  }
  return [names = std::move(names)](const std::string& name) {
    for (const std::string& each : {name, without_cell(name)})
      if (const auto found = names.find(each); found != names.end()) return found->second;
    return name;
  };
}

}  // namespace etude
