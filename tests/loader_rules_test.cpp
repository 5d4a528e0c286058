#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "allocation_counter.hpp"
#include "etude/base/detail/archive.hpp"
#include "etude/etude.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "etude/saving/hdf5/detail/hdf5_writer.hpp"
#include "files_in_memory.hpp"
#include "safetensors_samples.hpp"
#include "training_samples.hpp"

// Files of models that attack their reader, as those of CVE-2024-3660, CVE-2025-1550, CVE-2025-8747, CVE-2025-9905,
// CVE-2025-9906, CVE-2026-0897, CVE-2026-1462 and CVE-2026-12479 attack Keras. The rules, and the tests that hold them:
// R1   no code, no second file      here; hdf5_test (links, external and virtual data), weights_files_test (paths)
// R2   only known classes           here; registered_classes_test
// R3   nothing is allocated for what a file only claims: here; hdf5_test, safetensors_test, zip_test, npy_csv_test,
//      idx_test, weights_files_test, tf_checkpoints_test, load_model_test; fuzz_test (the memory of each reader)
// R4   limits of depth and number   here; safetensors_test, zip_test, nesting_test, checkpoint_store_test
// R5   nothing twice, no gaps       here; safetensors_test, zip_test, hdf5_test, tf_checkpoints_test
// R6   ZIP archives                 here; zip_test, archives_test
// R7   HDF5                         hdf5_test
// R8   one rule for all formats     here
// R9   errors have a kind and a place: safetensors_test, hdf5_test, tf_checkpoints_test, corruption_test; fuzz_test
// R10  checksums                    corruption_test, zip_test, hdf5_test, tf_checkpoints_test
// R11  fuzzing                      fuzz_test; ./dev test fuzz
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;
using samples::error_of;

const std::string dense = R"({"class_name": "Dense", "config": {"name": "dense", "units": 1}})";

/// A model of an input [batch, 2] and a layer.
std::string model_with(const std::string& layer) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": )"
         R"({"batch_shape": [null, 2], "name": "in"}}, )" +
         layer + "]}}";
}

/// The weights of `dense`, as Keras 3 and Keras 2 store them; a whole model if there is a config.
std::string weights_with(const std::string& config = "") {
  hdf5::Writer writer;
  if (config.empty()) {
    writer.dataset("layers/dense/vars/0", hdf5::Number::float32, {2, 1});
    writer.dataset("layers/dense/vars/1", hdf5::Number::float32, {1});
  } else {
    writer.text("", "model_config", config);
    writer.texts("model_weights", "layer_names", {"dense"});
    writer.texts("model_weights/dense", "weight_names", {"kernel:0", "bias:0"});
    writer.dataset("model_weights/dense/kernel:0", hdf5::Number::float32, {2, 1});
    writer.dataset("model_weights/dense/bias:0", hdf5::Number::float32, {1});
  }
  std::string file;
  writer.start([&](std::string_view bytes) { file += bytes; });
  writer.append(std::vector<std::byte>(12, std::byte{0}));
  writer.finish();
  return file;
}

/// The weights of `dense`.
std::vector<NamedTensor> dense_weights() {
  return {{"dense/kernel", Tensor({2, 1})}, {"dense/bias", Tensor(Shape{1})}};
}

/// A model.json of TensorFlow.js, whose weights are in another file.
std::string tfjs_with(const std::string& config) {
  return R"({"format": "layers-model", "modelTopology": )" + config +
         R"(, "weightsManifest": [{"paths": ["weights.bin"], "weights": [)"
         R"({"name": "dense/kernel", "shape": [2, 1], "dtype": "float32"}, )"
         R"({"name": "dense/bias", "shape": [1], "dtype": "float32"}]}]})";
}

/// Writes a model in each format, and loads it.
struct Format {
  const char* name;
  void (*load)(const std::string& config);
  /// The beginnings of the names of its files.
  std::vector<std::string> files;
};
const Format formats[]{{".keras",
                        [](const std::string& config) {
                          const auto archive = create_archive("m.keras");
                          archive->add("metadata.json", "{}");
                          archive->add("config.json", config, true);
                          archive->add("model.weights.h5", weights_with());
                          archive->commit();
                          load_model("m.keras");
                        },
                        {"m.keras"}},
                       {".h5",
                        [](const std::string& config) {
                          host().files->replace("m.h5", {weights_with(config)});
                          load_model("m.h5");
                        },
                        {"m.h5"}},
                       {"a model.json",
                        [](const std::string& config) {
                          host().files->replace("m.json", {tfjs_with(config)});
                          host().files->replace("weights.bin", {std::string(12, '\0')});
                          load_model("m.json");
                        },
                        {"m.json", "weights.bin", "./weights.bin"}},
                       {"a folder",
                        [](const std::string& config) {
                          CheckpointStore("folder").save({.step = 0,
                                                          .tensors = {{"model", dense_weights()}, {"states", {}}},
                                                          .documents = {{"config", R"({"model": )" + config + "}"}}});
                          load_model("folder");
                        },
                        {"folder"}}};
const Format description{"a description", [](const std::string& config) { model_from_json(config); }, {}};

/// The errors of all formats for a model with this layer.
void check_refused(const std::string& config, const std::string& reason) {
  const auto check_one = [&](const Format& format) {
    INFO(format.name << ": " << config.substr(0, 300));
    const FilesInMemory scope;
    try {
      format.load(config);
      FAIL_CHECK("no error");
    } catch (const Error& error) {
      CHECK_THAT(error.what(), ContainsSubstring(reason));
    }
  };
  for (const Format& format : formats) check_one(format);
  check_one(description);
}

/// Notes the files that are opened.
class WatchedFiles : public MemoryVfs {
 public:
  std::vector<std::byte> read(const std::string& path) override { return opened.insert(path), MemoryVfs::read(path); }
  std::unique_ptr<FileSource> source(const std::string& path) override {
    return opened.insert(path), MemoryVfs::source(path);
  }
  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    return opened.insert(path), MemoryVfs::open(path, append);
  }
  std::set<std::string> opened;
};

}  // namespace

TEST_CASE(
    "no format of models runs code, or creates objects of other classes than Étude's and registered ones (R1, R2, R8)",
    "[saving][attacks]") {
  for (const Format& format : formats) {
    INFO(format.name);
    const FilesInMemory scope;
    CHECK_NOTHROW(format.load(model_with(dense)));
  }
  CHECK_NOTHROW(description.load(model_with(dense)));
  const auto refused = [](const std::string& layer, const std::string& reason) {
    check_refused(model_with(layer), reason);
  };
  refused(R"({"module": "keras.config", "class_name": "function", "config": "enable_unsafe_deserialization"})",
          "enable_unsafe_deserialization");
  refused(R"({"class_name": "Lambda", "config": {"name": "l", "function": {"class_name": "__lambda__", "config":
             {"code": "4wEAAAA=", "defaults": null, "closure": null}}}})",
          "class \"Lambda\"");
  refused(R"({"class_name": "Lambda", "config": {"name": "l", "function": ["4wEAAAA=", null, null],
             "function_type": "lambda", "module": "os"}})",
          "class \"Lambda\"");
  refused(R"({"module": "os", "class_name": "system", "config": {"command": "true"}})", "class \"system\"");
  refused(R"({"module": "keras.layers", "class_name": "TFSMLayer", "config": {"filepath": "/tmp/model"}})",
          "class \"TFSMLayer\"");
  refused(R"({"module": "evil", "class_name": "Layer", "config": {}, "registered_name": "evil>Layer"})", "evil>Layer");
  const auto with_option = [&](const std::string& name, const std::string& value, const std::string& reason) {
    refused(R"({"class_name": "Dense", "config": {"name": "dense", "units": 1, ")" + name + R"(": )" + value + "}}",
            reason);
  };
  with_option("activation", R"({"module": "keras.utils", "class_name": "function", "config": "get_file"})", "get_file");
  with_option("activation", R"({"class_name": "Lambda", "config": {}})", "Lambda");
  with_option("kernel_initializer", R"({"module": "builtins", "class_name": "eval", "config": {"source": "1"}})",
              "eval");
  with_option("kernel_regularizer", R"({"module": "subprocess", "class_name": "Popen", "config": {}})", "Popen");
}

TEST_CASE("the weights of a config are allocated only if the file has their bytes (R3)", "[saving][attacks]") {
  const auto with_units = [](const char* units) {
    return model_with(R"({"class_name": "Dense", "config": {"name": "dense", "units": )" + std::string(units) + "}}");
  };
  for (const Format& format : formats) {
    INFO(format.name);
    const FilesInMemory scope;
    const std::string large = with_units("250000000"), largest = with_units("9223372036854775807");
    const LimitedAllocations limit(std::size_t{1} << 20);
    CHECK_THAT(error_of([&] { format.load(large); }), ContainsSubstring("expected [2, 250000000]"));
    CHECK_THAT(error_of([&] { format.load(largest); }), ContainsSubstring("9223372036854775807"));
  }
}

TEST_CASE("a config that is nested too deep, has a key twice or is not JSON is refused in every format (R4, R5)",
          "[saving][attacks]") {
  const std::string deep(100'000, '[');
  check_refused(deep, "nested deeper than 64");
  check_refused(model_with(R"({"class_name": "Dense", "class_name": "Lambda", "config": {"units": 1}})"),
                "the key \"class_name\" twice");
  check_refused(model_with(R"({"class_name": "Dense", "config": {"units": NaN}})"), "is not valid JSON");
  check_refused(model_with(dense) + ", {}", "is not valid JSON");
  std::string nested = dense;
  for (int i = 0; i < 30; ++i)
    nested = R"({"class_name": "Sequential", "config": {"name": "s)" + std::to_string(i) + R"(", "layers": [)" +
             nested + "]}}";
  check_refused(nested, "nested deeper than 64");
}

TEST_CASE("a .keras file whose config expands beyond its limit is refused before it is expanded (R3, R6)",
          "[saving][attacks]") {
  const FilesInMemory scope;
  const std::string bomb = model_with(dense) + std::string(std::size_t{2} << 20, ' ');
  const LimitedAllocations limit(std::size_t{3} << 20);
  CHECK_THAT(error_of([&] { formats[0].load(bomb); }), ContainsSubstring("expand to more than"));
}

TEST_CASE("a config of more than 100000 layers is refused in every format (R4)", "[saving][attacks]") {
  const std::string many = [] {
    std::string list = "{}";
    for (int i = 1; i < 50'001; ++i) list += ",{}";
    return list;
  }();
  check_refused(R"({"class_name": "Sequential", "config": {"name": "s", "layers": [)" + many + "," + many + "]}}",
                "100002 layers - expected at most 100000");
  const std::string inner = R"({"class_name": "Sequential", "config": {"name": "i", "layers": [)" + many + "]}}";
  check_refused(R"({"class_name": "Sequential", "config": {"name": "s", "layers": [)" + inner + "," + inner + "]}}",
                "100004 layers - expected at most 100000");
}

/// Files of which one is said to be larger than JSON may be. Its bytes exist only as far as they are read.
class FilesWithLarge : public MemoryVfs {
 public:
  FilesWithLarge(std::string name, std::string begin) : name_(std::move(name)), begin_(std::move(begin)) {}
  std::vector<std::byte> read(const std::string& path) override {
    return path == name_ ? std::vector<std::byte>(100'000'001) : MemoryVfs::read(path);
  }
  std::unique_ptr<FileSource> source(const std::string& path) override {
    return path == name_ ? std::make_unique<Large>(begin_) : MemoryVfs::source(path);
  }
  PathKind kind(const std::string& path) override { return path == name_ ? PathKind::file : MemoryVfs::kind(path); }

 private:
  class Large : public FileSource {
   public:
    explicit Large(std::string begin) : begin_(std::move(begin)) {}
    std::uint64_t size() const override { return 100'000'001; }
    void read(std::uint64_t at, std::span<std::byte> out) override {
      for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<std::byte>(at + i < begin_.size() ? begin_[static_cast<std::size_t>(at + i)] : ' ');
    }

   private:
    const std::string begin_;
  };
  const std::string name_, begin_;
};

TEST_CASE("JSON and indices of more than 100 MB are refused before they are read (R4)", "[saving][attacks]") {
  const FilesInMemory scope;
  Sequential model({layers::dense({.units = 1})});
  model.build({-1, 2});
  const auto error = [&](const std::string& name, const std::function<void()>& load) {
    const auto files = std::make_shared<FilesWithLarge>(name, "{");
    const FilesScope within(files);
    for (const char* folder : {"folder", "folder/ckpt-00000000"}) files->make_folder(folder);
    const LimitedAllocations limit(std::size_t{1} << 20);
    return error_of(load);
  };
  const auto refused = ContainsSubstring("100000001 bytes - expected at most 100000000");
  for (const std::string name : {"model.json", "m.weights.json", "model.safetensors.index.json"}) {
    CHECK_THAT(error(name, [&] { load_model(name); }), refused);
    CHECK_THAT(error(name, [&] { model.load_weights(name); }), refused);
  }
  CHECK_THAT(error("ckpt.index", [&] { model.load_weights("ckpt"); }), refused);
  const std::string manifest = "folder/ckpt-00000000/manifest.json";
  CHECK_THAT(error(manifest, [&] { load_model("folder"); }), refused);
  CHECK_THAT(error(manifest, [&] { model.load_weights("folder"); }), refused);

  // The size in the directory of an archive, which its bytes could expand to.
  const auto archive = create_archive("m.keras");
  archive->add("config.json", model_with(dense), true);
  archive->add("model.weights.h5", weights_with());
  archive->add("assets/filling", std::string(1'100'000, ' '));
  archive->commit();
  std::string bytes = text_in(*scope.files, "m.keras");
  const std::string large("\x01\xE1\xF5\x05", 4);  // 100'000'001
  bytes.replace(bytes.find("PK\1\2") + 24, 4, large);
  scope.files->replace("m.keras", {bytes});
  const LimitedAllocations limit(std::size_t{1} << 20);
  CHECK_THAT(error_of([] { load_model("m.keras"); }), ContainsSubstring("config.json\" has 100000001 bytes"));
}

TEST_CASE("a .keras file with other files than those of Keras is refused (R6)", "[saving][attacks]") {
  const FilesInMemory scope;
  const auto error = [](const std::string& name) {
    const auto archive = create_archive("m.keras");
    archive->add("metadata.json", "{}");
    archive->add("config.json", model_with(dense));
    archive->add("model.weights.h5", weights_with());
    archive->add(name, "x");
    archive->commit();
    return error_of([] { load_model("m.keras"); });
  };
  CHECK(error("assets/layers/dense/vocabulary.txt").empty());
  for (const std::string name : {"run.py", "config.json.bak", "Assets/a", "__MACOSX/._config.json"})
    CHECK_THAT(error(name), ContainsSubstring("an archive with \"" + name + "\""));
}

TEST_CASE("loading opens one file, and saving writes one, whatever the names in the model are (R1, R6)",
          "[saving][attacks]") {
  const FilesInMemory scope;
  const auto files = std::make_shared<WatchedFiles>();
  host().files = files;
  const std::string layer = R"({"class_name": "Dense", "config": {"name": "../../evil", "units": 1}})";
  for (const Format& format : formats) {
    INFO(format.name);
    files->opened.clear();
    // The weights in a model.json have the names of their layers.
    format.load(model_with(format.files.front() == "m.json" ? dense : layer));
    for (const std::string& path : files->opened)
      CHECK(std::ranges::any_of(format.files, [&](const std::string& name) { return path.starts_with(name); }));
  }
  Sequential model({layers::dense({.units = 1, .name = "../../evil"})});
  model.build({-1, 2});
  for (const char* path : {"a.keras", "a.weights.h5", "a.safetensors", "a.npz"}) {
    INFO(path);
    files->opened.clear();
    if (std::string_view(path) == "a.keras")
      model.save(path);
    else
      model.save_weights(path);
    CHECK_FALSE(files->opened.empty());
    for (const std::string& each : files->opened) CHECK(each.starts_with(path));
  }
}

}  // namespace etude
