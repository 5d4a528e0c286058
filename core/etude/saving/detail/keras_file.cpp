#include "etude/saving/detail/keras_file.hpp"

#include <algorithm>
#include <memory>

#include "etude/base/detail/archive.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/keras2_activation.hpp"
#include "etude/saving/detail/keras_assets.hpp"
#include "etude/saving/detail/keras_optimizer.hpp"
#include "etude/saving/detail/keras_store.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/shared_objects.hpp"
#include "etude/saving/detail/weights_shards.hpp"

namespace etude {
namespace {

constexpr const char* weights_name = "model.weights.h5";
constexpr const char* config_name = "config.json";
constexpr const char* metadata_name = "metadata.json";

/// A .keras file, and the files in it.
struct KerasArchive {
  explicit KerasArchive(const std::string& file)
      : path(file), reader(open_archive(vfs_or_host({}, "load_model")->source(file), file)) {
    static_cast<void>(entry(config_name));  // throws if there is none
    constexpr std::string_view known[]{config_name, metadata_name, weights_name};
    for (const ArchiveEntry& each : reader->entries())
      check(each.name.starts_with("assets/") || std::ranges::find(known, each.name) != std::end(known), ErrorKind::data,
            path, "an archive with \"", each.name,
            "\" - expected only the files that Keras writes - check the file, or remove that.");
  }

  const ArchiveEntry& entry(const char* name) const {
    const ArchiveEntry* found = reader->find(name);
    check(found != nullptr, ErrorKind::data, path, "an archive without \"", name,
          "\" - expected a model that Keras saved - check the file.");
    return *found;
  }
  std::string text(const ArchiveEntry& stored) const {
    const std::vector<std::byte> text = reader->read_all(stored);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  Json json(const ArchiveEntry& stored) const {
    const std::string place = path + '/' + stored.name;
    check_json_size(stored.size, place);
    return parse_json(text(stored), place);
  }
  /// The description of the model, with the vocabularies in it.
  Json config() const {
    Json config = json(entry(config_name));
    const auto text_at = [&](const std::string& name) {
      const ArchiveEntry* found = reader->find(name);
      return found ? std::optional(text(*found)) : std::nullopt;
    };
    const auto weights_at = [&](const std::string& name) -> std::optional<Tensor> {
      hdf5::Reader file = weights();
      if (file.kind(name) != hdf5::ObjectKind::dataset) return {};
      return file.read(file.dataset(name), DType::float32);
    };
    add_vocabularies(config, {text_at, weights_at}, path);
    return config;
  }
  /// The version of Keras that wrote the file; empty if it is not known.
  std::string version() const {
    const ArchiveEntry* found = reader->find(metadata_name);
    if (!found) return {};
    return text_in(json(*found), "keras_version");
  }
  hdf5::Reader weights() const { return {reader->source(entry(weights_name)), path + '/' + weights_name}; }

  std::string path;
  std::unique_ptr<ArchiveReader> reader;
};

/// Opens an archive, and compares the checksum of its weights piece by piece, so that not all of them are awaited at
/// once.
Task<std::unique_ptr<KerasArchive>> open_keras(const std::string& path, Reading& reading) {
  std::unique_ptr<KerasArchive> archive;
  auto opening = [&] { archive = std::make_unique<KerasArchive>(path); };
  co_await reading.run(opening);
  const ArchiveEntry* weights = archive->reader->find(weights_name);
  for (bool compared = !weights; !compared;) {
    auto step = [&] { compared = archive->reader->compare(*weights); };
    co_await reading.run(step);
  }
  co_return std::move(archive);
}

hdf5::Reader open_hdf5(const std::string& path, const char* where) {
  return {vfs_or_host({}, where)->source(path), path};
}

/// The built model of a description. Its weights have no values yet.
ModelPtr without_values(const Json& json, const std::string& path) {
  check(describes_model(json), ErrorKind::value, "load_model", "class \"", class_name_in(json), "\" in \"", path,
        "\" - expected Sequential or Functional - load the weights into a model that is created in code.");
  const UnsetVariables scope;
  ModelPtr model = model_from_json(json);
  check(model->built(), ErrorKind::data, "load_model", '"', path,
        "\" has no shapes of the inputs - expected a model that was built before it was saved - save it again.");
  return model;
}

/// The same, compiled as it says if `compile`.
ModelPtr described_model(const Json& json, const std::string& path, bool compile) {
  const SharedObjects shared;
  ModelPtr model = without_values(json, path);
  if (compile) compile_as_described(*model, json);
  return model;
}

/// Takes the layers of strings from the config of a model, with a warning that names them.
void take_strings(Json& config, const std::string& path) {
  std::string names;
  for (const Json& layer : take_string_layers(config))
    names += (names.empty() ? "\"" : ", \"") + layer["config"]["name"].get<std::string>() + '"';
  if (names.empty()) return;
  const Json& layers = config["config"]["layers"];
  const auto is_input = [](const Json& layer) { return text_in(layer, "class_name") == "InputLayer"; };
  check(!std::ranges::all_of(layers, is_input), ErrorKind::value, "load_model", '"', path,
        "\" has only layers of strings, ", names,
        " - expected a model of numbers - load them by load_string_layers().");
  print_warning({}, spelled("[load_model] \"") + path + "\": the model begins after the layers of strings " + names +
                        spelled(", which load_string_layers() loads. Call them on the texts, and pass their results to "
                                "the model."));
}

using Stored = std::vector<StoredVariable>;

/// The variables of an optimizer in a .keras file; nothing if the file has others.
Task<std::optional<Stored>> find_optimizer(hdf5::Reader& file, const Optimizer& optimizer, const Json& config,
                                           Reading& reading) {
  if (!has_keras_variables(optimizer)) co_return std::nullopt;
  KerasWeights group{.path = "optimizer/vars", .name = optimizer.name(), .variables = {}};
  std::size_t count = 0;
  auto counting = [&] { count = file.kind(group.path) == hdf5::ObjectKind::group ? file.list(group.path).size() : 0; };
  co_await reading.run(counting);
  group.variables = stored_variables(optimizer, config, count);
  if (group.variables.size() == 1 && count > 1) {
    StoredVariable first{group.variables.front(), &file, {}};
    auto step = [&] { first.dataset = file.dataset(group.path + "/0"); };
    co_await reading.run(step);
    if (first.dataset.shape != first.variable.shape()) co_return std::nullopt;
    co_return Stored{std::move(first)};
  }
  std::vector<std::string> skipped;
  Stored stored = co_await find_keras_groups(file, std::span(&group, 1), "load_model", &skipped, reading);
  if (!skipped.empty()) co_return std::nullopt;
  co_return std::move(stored);
}

/// Restores the optimizer's variables from a group of the file, if those that `find` finds there are its own.
Task<> restore_optimizer(Model& model, hdf5::Reader& file, const Json& config, const std::string& path,
                         const char* group, decltype(&find_optimizer) find, Reading& reading) {
  bool exists = false;
  auto looking = [&] { exists = model.compiled() && file.kind(group); };
  co_await reading.run(looking);
  if (!exists) co_return;
  Optimizer& optimizer = model.optimizer();
  optimizer.build(model.trainable_variables());
  const std::optional<Stored> stored = co_await find(file, optimizer, config, reading);
  if (!stored) {
    print_warning({}, spelled("[load_model] \"") + path + "\": the state of the optimizer \"" + optimizer.name() +
                          "\" is not restored: the file has other variables than it. It starts anew.");
    co_return;
  }
  co_await assign_stored(*stored, reading);
  const std::vector<Variable> variables = optimizer.keras_variables();
  const auto is_last = [&](const StoredVariable& each) { return each.variable.id() == variables.back().id(); };
  if (ends_with_product(variables) && std::ranges::none_of(*stored, is_last)) compute_product(optimizer);
}

/// The groups of the optimizer that a loaded model will have.
std::vector<KerasWeights> saved_optimizer_weights(const Model& model) {
  const std::vector<Variable> others = model.optimizer().sort_slots(model.trainable_variables());
  std::vector<KerasWeights> groups = keras_optimizer_weights(model.optimizer());
  for (KerasWeights& group : groups) group.variables = without(std::move(group.variables), others);
  return groups;
}

/// All groups of a model, and of its optimizer.
std::vector<KerasWeights> groups_of(const Model& model, const std::string& path) {
  std::vector<KerasWeights> groups = keras_weights(model);
  if (!model.compiled()) return groups;
  if (!has_keras_variables(model.optimizer()))
    print_warning({}, "[Model.save] \"" + path + "\": the state of the optimizer \"" + model.optimizer().name() +
                          "\" is not saved, because its variables differ from Keras's. Save to a folder to keep it.");
  else
    for (KerasWeights& group : saved_optimizer_weights(model)) groups.push_back(std::move(group));
  return groups;
}

void warn_of_skipped(const std::vector<std::string>& skipped, const std::string& where) {
  if (skipped.empty()) return;
  std::string names;
  for (const std::string& name : skipped) names += (names.empty() ? "\"" : ", \"") + name + '"';
  print_warning(
      {}, '[' + where + "] these have other weights or shapes in the file, and keep their values: " + names + '.');
}

}  // namespace

namespace detail {

// Not constant, so that no compiler replaces the address by a call: files of Keras 2 are a part of the WebAssembly
// module.
decltype(&find_keras2_weights) keras2_weights_finder = find_keras2_weights;

}  // namespace detail

void save_keras(const Model& model, const std::string& path, WriteCount& count) {
  Json config = compiled_to_json(model);  // throws before there is a file
  if (model.compiled() && !config.contains("compile_config"))
    print_warning({}, "[Model.save] \"" + path +
                          "\": the model is saved without its compile options, because one is a "
                          "function or of a class that is not registered. Compile it after loading.");
  const std::vector<std::pair<std::string, std::string>> vocabularies = describe_adapted(model, config);
  const std::string description = json_text(config);
  static_cast<void>(parse_json(description, path));  // throws if the models are nested too deep to be read
  const std::vector<KerasWeights> groups = groups_of(model, path);
  const std::unique_ptr<ArchiveWriter> archive = create_archive(path);
  // The version of Keras whose form the files have. Without a date, equal models give equal files.
  archive->add(metadata_name, json_text({{"keras_version", "3.15.1"}, {"etude", 1}}));
  archive->add(config_name, description);
  write_keras_groups(
      groups, [&](std::uint64_t size) { archive->begin(weights_name, false, size); },
      [&](std::string_view bytes) { archive->append(bytes); }, count);
  for (const auto& [name, text] : vocabularies) archive->add(name, text);
  archive->commit();
}

Task<ModelPtr> load_keras(const std::string& path, bool compile, Reading& reading) {
  const std::unique_ptr<KerasArchive> archive = co_await open_keras(path, reading);
  Json config;
  std::string version;
  auto describing = [&] {
    config = archive->config();
    version = archive->version();
  };
  co_await reading.run(describing);
  take_strings(config, path);
  rename_activations(config, version);
  const ModelPtr model = described_model(config, path, compile);
  std::unique_ptr<hdf5::Reader> file;
  auto opening = [&] { file.reset(new hdf5::Reader(archive->weights())); };
  co_await reading.run(opening);
  const std::vector<KerasWeights> groups = keras_weights(*model);
  Stored stored = co_await find_keras_groups(*file, groups, "load_model", nullptr, reading);
  co_await assign_stored(std::move(stored), reading);
  const Json& of_optimizer = member_in(config, "compile_config");
  co_await restore_optimizer(*model, *file, of_optimizer, path, "optimizer", find_optimizer, reading);
  co_return model;
}

std::map<std::string, std::shared_ptr<StringLayer>> load_keras_strings(const std::string& path) {
  const KerasArchive archive(path);
  Json config = archive.config();
  std::map<std::string, std::shared_ptr<StringLayer>> layers;
  for (const Json& each : take_string_layers(config)) {
    auto layer = std::dynamic_pointer_cast<StringLayer>(object_from_json<Layer>(each));
    if (layer) layers.emplace(layer->name(), std::move(layer));
  }
  return layers;
}

Task<ModelPtr> load_h5(const std::string& path, bool compile, Reading& reading) {
  std::unique_ptr<hdf5::Reader> file;
  std::optional<std::string> config, training, version;
  auto describing = [&] {
    file.reset(new hdf5::Reader(open_hdf5(path, "load_model")));
    config = file->text("", "model_config");
    training = file->text("", "training_config");
    version = file->text("", "keras_version");
  };
  co_await reading.run(describing);
  check(config.has_value(), ErrorKind::data, "load_model", '"', path,
        "\" has weights without a model - expected a whole model - load them by load_weights.");
  Json json = parse_json(*config, path + "/model_config");
  if (training && json.is_object()) json["training_config"] = parse_json(*training, path + "/training_config");
  rename_activations(json, version.value_or(""));
  const ModelPtr model = described_model(json, path, compile);
  Stored stored = co_await find_keras2_weights(*file, *model, false, "load_model", nullptr, reading);
  co_await assign_stored(std::move(stored), reading);
  const Json& of_optimizer = member_in(json, "training_config");
  co_await restore_optimizer(*model, *file, of_optimizer, path, "optimizer_weights", find_h5_optimizer, reading);
  co_return model;
}

void save_keras_weights(const Model& model, const std::string& path, WriteCount& count) {
  const std::shared_ptr<Vfs> files = vfs_or_host({}, "save_weights");
  FileReplacement made(*files, path);
  write_keras_groups(
      keras_weights(model), [](std::uint64_t) {}, [&](std::string_view bytes) { made.file().append(bytes); }, count);
  made.commit();
}

Task<> load_keras_weights(Model& model, const std::string& path, const LoadWeightsOptions& options, Reading& reading) {
  const std::string where = spelled("load_weights \"") + path + '"';
  check(options.map.empty() && options.transpose.empty(), ErrorKind::value, where,
        "map or transpose - expected neither for a file of Keras, whose layers are found by their places - leave them "
        "out.");
  std::vector<std::string> skipped;
  std::vector<std::string>* const mismatches = options.skip_mismatch ? &skipped : nullptr;
  FileFormat format = FileFormat::unknown;
  auto looking = [&] { format = format_of(path, *reading.files()); };
  co_await reading.run(looking);
  std::unique_ptr<KerasArchive> archive;
  if (format == FileFormat::keras) archive = co_await open_keras(path, reading);
  std::optional<KerasShards> shards;
  std::unique_ptr<hdf5::Reader> file;
  bool keras2 = false;
  auto opening = [&] {
    if (format == FileFormat::keras_shards) return static_cast<void>(shards.emplace(path, where));
    file.reset(new hdf5::Reader(archive ? archive->weights() : open_hdf5(path, "load_weights")));
    keras2 = is_keras2(*file);
  };
  co_await reading.run(opening);
  check(keras2 || !options.by_name, ErrorKind::value, where,
        "by_name for a file of Keras 3 - expected one of Keras 2 (.h5) - leave it out.");
  const FilesOfGroup files_of = [&](const std::string& group) {
    return shards ? shards->files_of(group) : std::vector{file.get()};
  };
  const std::vector<KerasWeights> groups = keras_weights(model);
  Stored stored;
  if (keras2)
    stored = co_await detail::keras2_weights_finder(*file, model, options.by_name, where, mismatches, reading);
  else
    stored = co_await find_keras_groups(files_of, groups, where, mismatches, reading);
  warn_of_skipped(skipped, where);
  co_await assign_stored(std::move(stored), reading);
}

}  // namespace etude
