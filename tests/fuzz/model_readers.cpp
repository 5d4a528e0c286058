#include <memory>

#include "etude/base/detail/archive.hpp"
#include "etude/base/host.hpp"
#include "etude/saving/detail/weights_shards.hpp"
#include "etude/saving/load_model.hpp"
#include "etude/training/sequential.hpp"
#include "files_in_memory.hpp"
#include "fuzz/readers.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"
#include "training_samples.hpp"

// Whole models in the files of Keras and TensorFlow.js.
namespace etude::testing {
namespace {

/// Writes packed files as a .keras file.
void write_keras(std::string_view packed, const std::string& path) {
  const std::unique_ptr<ArchiveWriter> archive = create_archive(path);
  for (const auto& [name, content] : unpacked(packed)) archive->add(name, content);
  archive->commit();
}

/// The files in a golden .keras file that have these names.
std::string packed_keras(const char* path, std::initializer_list<const char*> names) {
  const std::vector<std::byte> file = read_file(golden_path(path));
  const std::unique_ptr<ArchiveReader> archive = open_archive(file, path);
  PackedFiles files;
  for (const char* name : names) files.emplace_back(name, text_of(archive->read_all(*archive->find(name))));
  return pack(files);
}

}  // namespace

void read_keras_file(std::string_view bytes) {
  const FilesInMemory scope;
  write_keras(bytes, "m.keras");
  load_model("m.keras");
}

FuzzInputs keras_inputs() {
  return {packed_keras("keras/adam.keras", {"config.json", "model.weights.h5"}),
          packed_keras("keras/norm.keras", {"config.json", "model.weights.h5"}),
          packed_keras("keras/lookups.keras",
                       {"config.json", "model.weights.h5", "assets/layers/integer_lookup/vocabulary.txt",
                        "assets/layers/functional/layers/integer_lookup/vocabulary.txt"})};
}

void read_strings(std::string_view bytes) {
  const FilesInMemory scope;
  write_keras(bytes, "m.keras");
  load_string_layers("m.keras");
}

FuzzInputs strings_inputs() {
  return {
      packed_keras("keras/texts.keras", {"config.json", "assets/layers/text_vectorization/_lookup_layer/vocabulary.txt",
                                         "assets/layers/text_vectorization/vocabulary.txt"})};
}

void read_keras2_file(std::string_view bytes) {
  const FilesInMemory scope;
  host().files->replace("m.h5", {bytes});
  load_model("m.h5");
}

FuzzInputs keras2_inputs() {
  return {text_of(read_file(golden_path("hdf5/keras_legacy.h5"))),
          text_of(read_file(golden_path("keras/rmsprop2.h5")))};
}

void read_tfjs_topology(std::string_view bytes) {
  const FilesInMemory scope;
  host().files = folder_of(unpacked(bytes), "m");
  load_model("m/model.json");
}

FuzzInputs tfjs_topology_inputs() {
  const FilesInMemory scope;
  Sequential dense(samples::two_dense());
  dense.build({-1, 6});
  dense.save("m/model.json");
  return {pack(files_in(*scope.files, "m"))};
}

void read_shard_index(std::string_view bytes) { parse_shard_index(bytes, "m/index.json"); }

FuzzInputs shard_index_inputs() {
  return {R"({"metadata": {"total_size": 8}, "weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})",
          text_of(read_file(golden_path("keras/shards.weights.json")))};
}

}  // namespace etude::testing
