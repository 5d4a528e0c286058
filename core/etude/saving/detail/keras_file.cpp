#include "etude/saving/detail/keras_file.hpp"

#include <memory>

#include "etude/base/detail/archive.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/keras_store.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/object_parts.hpp"
#include "etude/saving/detail/shared_objects.hpp"

namespace etude {
namespace {

constexpr const char* weights_name = "model.weights.h5";
constexpr const char* config_name = "config.json";

/// The bytes of a .keras file, and the files in it.
struct KerasArchive {
  explicit KerasArchive(const std::string& file)
      : path(file),
        bytes(std::make_shared<const std::vector<std::byte>>(vfs_or_host({}, "load_model")->read(file))),
        reader(open_archive(*bytes, file)) {}

  const ArchiveEntry& entry(const char* name) const {
    const ArchiveEntry* found = reader->find(name);
    check(found != nullptr, ErrorKind::data, path, "an archive without \"", name,
          "\" - expected a model that Keras saved - check the file.");
    return *found;
  }
  Json config() const {
    const std::vector<std::byte> text = reader->read_all(entry(config_name));
    return parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, path + '/' + config_name);
  }
  hdf5::Reader weights() const {
    const ArchiveEntry& stored = entry(weights_name);
    std::shared_ptr<FileSource> source;
    if (const auto view = reader->view(stored))
      source = std::make_shared<MemorySource>(*view, bytes);
    else
      source = std::make_shared<MemorySource>(reader->read_all(stored));
    return {std::move(source), path + '/' + weights_name};
  }

  std::string path;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  std::unique_ptr<ArchiveReader> reader;
};

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

void warn_of_optimizer(const Model& model, const std::string& path, const std::string& reason) {
  print_warning({}, "[load_model] \"" + path + "\": the state of the optimizer \"" + model.optimizer().name() +
                        "\" is not restored: " + reason + ". It starts anew.");
}

/// Restores the optimizer's variables, if those in the file are its own.
void restore_optimizer(Model& model, hdf5::Reader& file, const std::string& path) {
  if (!model.compiled() || !file.kind("optimizer")) return;
  Optimizer& optimizer = model.optimizer();
  if (!has_keras_variables(optimizer)) return warn_of_optimizer(model, path, "its variables differ from Keras's");
  optimizer.build(model.trainable_variables());
  std::vector<std::string> skipped;
  const KerasWeights group = keras_weights(optimizer);
  const std::vector<StoredVariable> stored = find_keras_groups(file, std::span(&group, 1), "load_model", &skipped);
  if (!skipped.empty()) return warn_of_optimizer(model, path, "the file has other variables");
  assign_stored(file, stored);
}

/// All groups of a model, and of its optimizer.
std::vector<KerasWeights> groups_of(const Model& model, const std::string& path) {
  std::vector<KerasWeights> groups = keras_weights(model);
  if (!model.compiled()) return groups;
  if (has_keras_variables(model.optimizer()))
    groups.push_back(keras_weights(model.optimizer()));
  else
    print_warning({}, "[Model.save] \"" + path + "\": the state of the optimizer \"" + model.optimizer().name() +
                          "\" is not saved, because its variables differ from Keras's. Save to a folder to keep it.");
  return groups;
}

void warn_of_skipped(const std::vector<std::string>& skipped, const std::string& where) {
  if (skipped.empty()) return;
  std::string names;
  for (const std::string& name : skipped) names += (names.empty() ? "\"" : ", \"") + name + '"';
  print_warning({},
                '[' + where + "] these layers have other weights in the file, and keep their values: " + names + '.');
}

}  // namespace

void save_keras(const Model& model, const std::string& path) {
  const Json config = compiled_to_json(model);  // throws before there is a file
  if (model.compiled() && !config.contains("compile_config"))
    print_warning({}, "[Model.save] \"" + path +
                          "\": the model is saved without its compile options, because one is a "
                          "function or of a class that is not registered. Compile it after loading.");
  const std::vector<KerasWeights> groups = groups_of(model, path);
  const std::unique_ptr<ArchiveWriter> archive = create_archive(path);
  // The version of Keras whose form the files have. Without a date, equal models give equal files.
  archive->add("metadata.json", json_text({{"keras_version", "3.15.1"}, {"etude", 1}}));
  archive->add(config_name, json_text(config));
  write_keras_groups(
      groups, [&](std::uint64_t size) { archive->begin(weights_name, false, size); },
      [&](std::string_view bytes) { archive->append(bytes); });
  archive->commit();
}

ModelPtr load_keras(const std::string& path, bool compile) {
  const KerasArchive archive(path);
  const Json config = archive.config();
  const SharedObjects shared;
  const ModelPtr model = without_values(config, path);
  hdf5::Reader file = archive.weights();
  assign_stored(file, find_keras_groups(file, keras_weights(*model), "load_model", nullptr));
  if (!compile) return model;
  compile_as_described(*model, config);
  restore_optimizer(*model, file, path);
  return model;
}

ModelPtr load_h5(const std::string& path, bool compile) {
  hdf5::Reader file = open_hdf5(path, "load_model");
  const std::optional<std::string> config = file.text("", "model_config");
  check(config.has_value(), ErrorKind::data, "load_model", '"', path,
        "\" has weights without a model - expected a whole model - load them by load_weights.");
  Json json = parse_json(*config, path + "/model_config");
  if (const std::optional<std::string> training = file.text("", "training_config"); training && json.is_object())
    json["training_config"] = parse_json(*training, path + "/training_config");
  const SharedObjects shared;
  const ModelPtr model = without_values(json, path);
  assign_stored(file, find_keras2_weights(file, *model, false, "load_model", nullptr));
  if (!compile) return model;
  compile_as_described(*model, json);
  if (model->compiled() && file.kind("optimizer_weights"))
    warn_of_optimizer(*model, path, "it is in the format of Keras 2");
  return model;
}

void save_keras_weights(const Model& model, const std::string& path) {
  const std::shared_ptr<Vfs> files = vfs_or_host({}, "save_weights");
  const std::string unfinished = path + ".tmp";
  try {
    const std::unique_ptr<FileSink> sink = files->open(unfinished, false);
    write_keras_groups(
        keras_weights(model), [](std::uint64_t) {}, [&](std::string_view bytes) { sink->append(bytes); });
    sink->sync();
  } catch (...) {
    files->discard(unfinished);
    throw;
  }
  files->rename(unfinished, path);
  files->sync_folder(parent_of(path));
}

void load_keras_weights(Model& model, const std::string& path, const LoadWeightsOptions& options) {
  const std::string where = "load_weights \"" + path + '"';
  check(options.map.empty() && options.transpose.empty(), ErrorKind::value, where,
        "map or transpose - expected neither for a file of Keras, whose layers are found by their places - leave them "
        "out.");
  std::vector<std::string> skipped;
  std::vector<std::string>* const mismatches = options.skip_mismatch ? &skipped : nullptr;
  std::optional<KerasArchive> archive;
  if (format_of(path, *vfs_or_host({}, where)) == FileFormat::keras) archive.emplace(path);
  hdf5::Reader file = archive ? archive->weights() : open_hdf5(path, "load_weights");
  const bool keras2 = is_keras2(file);
  check(keras2 || !options.by_name, ErrorKind::value, where,
        "by_name for a file of Keras 3 - expected one of Keras 2 (.h5) - leave it out.");
  const std::vector<StoredVariable> stored = keras2
                                                 ? find_keras2_weights(file, model, options.by_name, where, mismatches)
                                                 : find_keras_groups(file, keras_weights(model), where, mismatches);
  warn_of_skipped(skipped, where);
  assign_stored(file, stored);
}

}  // namespace etude
