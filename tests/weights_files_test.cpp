#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "allocation_counter.hpp"
#include "etude/base/detail/archive.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"
#include "files_in_memory.hpp"
#include "safetensors_samples.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Files of weights: those of other libraries, and the formats that are recognized.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

void write(Vfs& files, const std::string& path, std::string_view text) { files.open(path, false)->append(text); }

/// A model of two dense layers with weights.
struct Built : Sequential {
  Built() : Sequential(samples::two_dense()) { build({-1, 6}); }
};

/// Whether both models have the same weights.
bool alike(const Model& a, const Model& b) {
  const std::vector<Tensor> first = a.get_weights(), second = b.get_weights();
  return std::ranges::equal(first, second, same_bits);
}

const LoadWeightsOptions torch_rules{.map = {{"^encoder\\.conv\\.", "conv2d/"},
                                             {"^encoder\\.norm\\.weight$", "batch_normalization/gamma"},
                                             {"^encoder\\.norm\\.bias$", "batch_normalization/beta"},
                                             {"^encoder\\.norm\\.running_mean$", "batch_normalization/moving_mean"},
                                             {"^encoder\\.norm\\.running_var$", "batch_normalization/moving_variance"},
                                             {"^(head)\\.", "dense/"},
                                             {"/weight$", "/kernel"},
                                             {"^.*num_batches_tracked$|^[xy]$", ""}},
                                     .transpose = "(conv|head)\\.weight$"};

/// The manifest of one weight in w.bin, and its tensor.
Tensor tfjs_weight(const std::string& entry, std::string_view bytes) {
  MemoryVfs files;
  write(files, "w.bin", bytes);
  const Json manifest =
      parse_json(R"([{"paths": ["w.bin"], "weights": [{"name": "w", )" + entry + "}]}]", "model.json");
  const auto tensors = read_tfjs_weights(manifest, "model.json", files);
  REQUIRE(tensors.size() == 1);
  return tensors.front().tensor;
}

}  // namespace

TEST_CASE("weights: a .npz file holds them under the same names, and NumPy's other files are loaded", "[saving]") {
  const FilesInMemory scope;
  const Built model;
  model.save_weights("w.npz");
  const auto arrays = read_npz("w.npz");
  CHECK(arrays.size() == 4);
  CHECK(arrays.at("dense_1/kernel").shape() == Shape{4, 1});
  Built other;
  other.set_weights({samples::waves({6, 4}), samples::waves({4}), samples::waves({4, 1}), samples::waves({1})});
  other.load_weights("w.npz");
  CHECK(alike(other, model));
  std::vector<std::pair<std::string, Tensor>> doubles;
  for (const auto& [name, array] : arrays) doubles.emplace_back("model/" + name, array.astype(DType::float64));
  write_npz("doubles.npz", doubles, {.compressed = true});
  Built third;
  third.load_weights("doubles.npz", {.map = {{"^model/", ""}}});
  CHECK(alike(third, model));
}

TEST_CASE("weights: a model of PyTorch computes the same after its tensors are renamed and its kernels transposed",
          "[saving]") {
  const std::string path = ETUDE_GOLDEN_DIR "/torch_model.safetensors";
  Sequential model({layers::conv2d({.filters = 4, .kernel_size = {3, 2}}),
                    layers::batch_normalization({.epsilon = 1e-5}), layers::activation({.activation = "relu"}),
                    layers::global_average_pooling2d(), layers::dense({.units = 3})});
  model.build({-1, 6, 5, 2});
  model.load_weights(path, torch_rules);
  const Safetensors golden =
      parse_safetensors(read_file(path), path, [](const std::string& name) { return name == "x" || name == "y"; });
  REQUIRE(golden.tensors.size() == 2);
  const bool first_is_x = golden.tensors[0].name == "x";
  const Tensor &x = golden.tensors[first_is_x ? 0 : 1].tensor, &y = golden.tensors[first_is_x ? 1 : 0].tensor;
  CHECK(difference(model.predict(x, {.verbose = 0}), y, {.atol = 1e-5, .rtol = 1e-5}) == "");
}

TEST_CASE("weights: with skip_mismatch those without a tensor of the same name and shape keep their values",
          "[saving]") {
  const FilesInMemory scope;
  const Built model;
  model.save_weights("w.safetensors");
  Sequential wider(samples::two_dense(4, 2));
  wider.build({-1, 6});
  const std::vector<Tensor> before = wider.get_weights();
  wider.load_weights("w.safetensors", {.map = {{"bias", "offset"}}, .skip_mismatch = true});
  const std::vector<Tensor> after = wider.get_weights();
  CHECK(same_bits(after[0], model.get_weights()[0]));
  for (std::size_t i = 1; i < after.size(); ++i) CHECK(same_bits(after[i], before[i]));
}

TEST_CASE("weights: rules that do not fit are errors that say what the file has, and change nothing",
          "[saving][errors]") {
  const FilesInMemory scope;
  const Built model;
  model.save_weights("w.safetensors");
  Sequential other({layers::dense({.units = 4}), layers::dense({.units = 1})});
  other.build({-1, 6});
  const std::vector<Tensor> before = other.get_weights();
  const auto error = [&](const LoadWeightsOptions& options) {
    return error_of([&] { other.load_weights("w.safetensors", options); });
  };
  CHECK(error({.map = {{"kernel", "weight"}}}) ==
        "[load_weights \"w.safetensors\"] no tensors \"dense/kernel\", \"dense_1/kernel\" but \"dense/weight\", "
        "\"dense_1/weight\" - expected the names of the model's 4 weights - load the file into the model that saved "
        "it, or rename its tensors by `map`.");
  CHECK_THAT(error({.map = {{"_1", ""}}}), ContainsSubstring("are both named \"dense/kernel\""));
  CHECK_THAT(error({.map = {{"(", ""}}}), ContainsSubstring("map with the pattern \"(\""));
  CHECK_THAT(error({.transpose = "["}), ContainsSubstring("transpose = \"[\""));
  CHECK_THAT(error({.transpose = "bias"}), ContainsSubstring("\"dense/bias\" of shape [4] - expected a kernel"));
  CHECK_THAT(error({.transpose = "dense/kernel"}), ContainsSubstring("\"dense/kernel\" of shape [4, 6]"));
  CHECK_THAT(error({.map = {{"^dense/.*$", ""}}}), ContainsSubstring("no tensor \"dense/kernel\" among 2"));
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(same_bits(other.get_weights()[i], before[i]));
}

TEST_CASE("weights: those of TensorFlow.js are read, quantized ones too, and written in files of 4 MiB", "[saving]") {
  // The numbers that tf.io.decodeWeights of @tensorflow/tfjs 4.22.0 returns for the same bytes.
  CHECK(same_bits(tfjs_weight(R"("shape": [3], "dtype": "float32", "quantization":
                                 {"dtype": "uint8", "scale": 0.1, "min": -3, "original_dtype": "float32"})",
                              std::string_view("\x00\x01\xFF", 3)),
                  Tensor::from<float>({3}, {-3.f, -2.9f, 22.5f})));
  CHECK(same_bits(tfjs_weight(R"("shape": [2], "dtype": "int32", "quantization":
                                 {"dtype": "uint16", "scale": 0.5, "min": -1})",
                              std::string_view("\x01\x00\x02\x01", 4)),
                  Tensor::from<std::int32_t>({2}, {0, 128})));
  CHECK(same_bits(tfjs_weight(R"("shape": [1, 2], "dtype": "float32", "quantization": {"dtype": "float16"})",
                              std::string_view("\x00\x3C\x00\xC1", 4)),
                  Tensor::from<float>({1, 2}, {1.f, -2.5f})));
  CHECK(same_bits(tfjs_weight(R"("shape": [], "dtype": "int32")", std::string_view("\xFF\xFF\xFF\xFF", 4)),
                  Tensor::from<std::int32_t>({}, {-1})));

  MemoryVfs files;
  files.make_folder("m");
  const std::vector<NamedTensor> tensors{{"a/kernel", samples::waves({1024, 1025})},
                                         {"b", Tensor::from<std::int32_t>({2}, {-7, 8})},
                                         {"c", Tensor::from<std::uint8_t>({2}, {7, 255})},
                                         {"none", Tensor({0, 3})}};
  const Json manifest = write_tfjs_weights(tensors, "m", files);
  CHECK(files.list("m") == std::vector<std::string>{"group1-shard1of2.bin", "group1-shard2of2.bin"});
  CHECK(files.size("m/group1-shard1of2.bin") == 4u << 20);
  const auto read = read_tfjs_weights(manifest, "m/model.json", files);
  REQUIRE(read.size() == tensors.size());
  for (const std::size_t i : {0u, 1u, 3u}) CHECK(same_bits(read[i].tensor, tensors[i].tensor));
  CHECK(same_bits(read[2].tensor, tensors[2].tensor.astype(DType::int32)));

  const FilesInMemory scope;
  const Built model;
  std::vector<NamedTensor> weights;
  for (const char* name : {"dense_Dense1/kernel", "dense_Dense1/bias", "dense_Dense2/kernel", "dense_Dense2/bias"})
    weights.push_back({name, model.get_weights()[weights.size()]});
  const Json json{{"modelTopology", Json::object()},
                  {"weightsManifest", write_tfjs_weights(weights, ".", *scope.files)}};
  write(*scope.files, "model.json", json_text(json));
  Built other;
  other.set_weights({samples::waves({6, 4}), samples::waves({4}), samples::waves({4, 1}), samples::waves({1})});
  other.load_weights("model.json", {.map = {{"_Dense1", ""}, {"_Dense2", "_1"}}});
  CHECK(alike(other, model));
}

TEST_CASE("weights: a damaged manifest of TensorFlow.js is refused before memory is allocated", "[saving][errors]") {
  const auto error = [](const std::string& entry) {
    return error_of([&] { tfjs_weight(entry, std::string_view("1234", 4)); });
  };
  CHECK(error(R"("shape": [1], "dtype": "float32")") == "no error");
  CHECK_THAT(error(R"("shape": [2], "dtype": "float32")"), ContainsSubstring("\"w\" beyond the end of its files"));
  CHECK_THAT(error(R"("shape": [2147483647, 2147483647, 2147483647], "dtype": "float32")"),
             ContainsSubstring("\"w\" beyond the end of its files"));
  CHECK_THAT(error(R"("shape": [3], "dtype": "float32", "quantization": {"dtype": "uint8", "scale": 1, "min": 0})"),
             ContainsSubstring("1 bytes in its files after the last"));
  CHECK_THAT(error(R"("shape": [4], "dtype": "bool")"), ContainsSubstring("a bool that is neither 0 nor 1"));
  CHECK_THAT(error(R"("shape": [-1], "dtype": "float32")"), ContainsSubstring("an extent that is no size"));
  CHECK_THAT(error(R"("shape": [1], "dtype": "string")"), ContainsSubstring("has dtype \"string\""));
  CHECK_THAT(error(R"("shape": [1], "dtype": "float32", "quantization": {"dtype": "uint8"})"),
             ContainsSubstring("an entry without \"scale\""));
  for (const char* path : {"../w.bin", "/w.bin", "a/w.bin", "https://example.org/w.bin", ""}) {
    MemoryVfs files;
    const Json manifest{{{"paths", {path}}, {"weights", Json::array()}}};
    CHECK_THAT(error_of([&] { read_tfjs_weights(manifest, "model.json", files); }),
               ContainsSubstring("no name in the folder of the model"));
  }
}

TEST_CASE("weights: beside the model, one tensor of a file is in memory while it is loaded or saved", "[saving]") {
  const ScratchFolder scratch("etude_weights_test", ScratchFolder::memory);
  constexpr std::size_t count = 8, units = 300, tensor = units * units * sizeof(float), buffers = 300'000;
  const auto layers_from = [](const InitializerPtr& initializer) {
    std::vector<LayerPtr> result;
    for (std::size_t i = 0; i < count; ++i)
      result.push_back(layers::dense({.units = units, .use_bias = false, .kernel_initializer = initializer}));
    return result;
  };
  Sequential model(layers_from(initializers::ones())), other(layers_from(initializers::zeros()));
  model.build({-1, units});
  other.build({-1, units});
  const auto peak_of = [](const std::function<void()>& action) {
    const WatchedMemory memory;
    action();
    return memory.peak();
  };
  for (const char* name : {"/m.keras", "/m.weights.h5", "/m.safetensors", "/m.npz"}) {
    INFO(name);
    const std::string path = scratch.path() + name;
    const bool whole = path.ends_with(".keras");
    CHECK(peak_of([&] { whole ? model.save(path) : model.save_weights(path); }) < tensor + buffers);
    CHECK(peak_of([&] { other.load_weights(path); }) < tensor + buffers);
    if (whole) CHECK(peak_of([&] { load_model(path); }) < (count + 1) * tensor + buffers);
  }
  const std::string folder = scratch.path() + "/folder";
  CHECK(peak_of([&] { model.save(folder); }) < tensor + buffers);
  CHECK(peak_of([&] { load_model(folder); }) < (count + 1) * tensor + buffers);
  const Json manifest =
      write_tfjs_weights(load_safetensors(scratch.path() + "/m.safetensors").tensors, scratch.path(), *host().files);
  write(*host().files, scratch.path() + "/model.json", json_text({{"weightsManifest", manifest}}));
  CHECK(peak_of([&] { other.load_weights(scratch.path() + "/model.json"); }) < tensor + buffers);
  CHECK(alike(other, model));
}

TEST_CASE("weights: those of Hugging Face in several files are loaded by their index", "[saving][errors]") {
  const FilesInMemory scope;
  const Built model;
  const std::vector<Tensor> weights = model.get_weights();
  scope.files->make_folder("hf");
  const auto shard = [&](const char* file, const std::vector<NamedTensor>& tensors) {
    save_safetensors(std::string("hf/") + file, {tensors});
  };
  shard("model-00001-of-00002.safetensors", {{"dense/kernel", weights[0]}, {"dense/bias", weights[1]}});
  shard("model-00002-of-00002.safetensors",
        {{"dense_1/kernel", weights[2]}, {"dense_1/bias", weights[3]}, {"more", weights[3]}});
  const auto load = [&](const std::string& last) {
    write(*scope.files, "hf/model.safetensors.index.json",
          R"({"metadata": {"total_size": 132}, "weight_map": {
        "dense/kernel": "model-00001-of-00002.safetensors", "dense/bias": "model-00001-of-00002.safetensors",
        "dense_1/kernel": "model-00002-of-00002.safetensors", "dense_1/bias": )" +
              last + "}}");
    Built other;
    other.set_weights({samples::waves({6, 4}), samples::waves({4}), samples::waves({4, 1}), samples::waves({1})});
    other.load_weights("hf/model.safetensors.index.json");
    CHECK(alike(other, model));
  };
  load(R"("model-00002-of-00002.safetensors")");
  CHECK_THAT(error_of([&] { load(R"("model-00001-of-00002.safetensors")"); }),
             ContainsSubstring("no tensor \"dense_1/bias\" in \"model-00001-of-00002.safetensors\""));
  for (const char* name : {R"("../w.safetensors")", R"("/w.safetensors")", R"("a/w.safetensors")",
                           R"("a\\w.safetensors")", R"("..")", R"("C:w")", R"("")", "3", "{}"})
    CHECK_THAT(error_of([&] { load(name); }), ContainsSubstring("which is no name in the folder of the index"));
}

TEST_CASE("formats: files and folders are recognized by their contents, then by their names", "[saving]") {
  MemoryVfs files;
  const auto of = [&](const std::string& path, std::string_view text) {
    write(files, path, text);
    return format_of(path, files);
  };
  CHECK(of("a", "\x89HDF\r\n\x1a\n...") == FileFormat::hdf5);
  CHECK(of("b.bin", safetensors_file(std::vector<NamedTensor>{})) == FileFormat::safetensors);
  CHECK(of("c", R"({"modelTopology": {}, "weightsManifest": []})") == FileFormat::tfjs);
  CHECK(of("d.json", R"({"class_name": "Sequential"})") == FileFormat::unknown);
  CHECK(of("q", R"({"metadata": {}, "weight_map": {"a": "b.safetensors"}})") == FileFormat::safetensors_shards);
  CHECK(of("r", R"({"metadata": {}, "weight_map": {"/vars": ["b.weights.h5"]}})") == FileFormat::keras_shards);
  CHECK(of("e", "\x80\x02}q") == FileFormat::pickle);
  CHECK(of("f.onnx", "\x08\x07") == FileFormat::onnx);
  CHECK(of("g", "....TFL3") == FileFormat::tflite);
  CHECK(of("h", "") == FileFormat::unknown);
  const auto archive = [&](const std::vector<std::string>& names) {
    const auto memory = std::make_shared<MemoryVfs>();
    const auto writer = create_archive("a.zip", memory);
    for (const std::string& name : names) writer->add(name, "");
    writer->commit();
    return text_in(*memory, "a.zip");
  };
  CHECK(of("i.zip", archive({"metadata.json", "config.json", "model.weights.h5"})) == FileFormat::keras);
  CHECK(of("j", archive({"x.npy", "y.npy"})) == FileFormat::npz);
  CHECK(of("k.pt", archive({"archive/data.pkl", "archive/data/0"})) == FileFormat::pickle);
  CHECK(of("l.keras", archive({})) == FileFormat::keras);
  const auto folder = [&](const std::string& path, const std::string& name) {
    files.make_folder(path);
    write(files, path + '/' + name, "");
    return format_of(path, files);
  };
  CHECK(folder("m", "saved_model.pb") == FileFormat::saved_model);
  CHECK(folder("n", "model.json") == FileFormat::tfjs);
  CHECK(folder("o", "ckpt-1.index") == FileFormat::tf_checkpoint);
  CHECK(folder("p", "manifest.json") == FileFormat::etude_folder);
  CHECK(format_of("o/ckpt-1", files) == FileFormat::tf_checkpoint);
  CHECK(format_of("nowhere.h5", files) == FileFormat::hdf5);
}

TEST_CASE("formats: one that is not read is an error that says how to convert it", "[saving][errors]") {
  const FilesInMemory scope;
  Built model;
  const auto error = [&](const std::string& path, std::string_view text) {
    write(*scope.files, path, text);
    return error_of([&] { model.load_weights(path); });
  };
  CHECK(error("m.pt", "\x80\x02}q") ==
        "[load_weights \"m.pt\"] \"m.pt\" is a pickle of Python, which contains code - expected weights as "
        "safetensors, as .npz or as a model.json of TensorFlow.js - in Python, save what \"torch.load(path, "
        "weights_only=True)\" returns by \"safetensors.torch.save_file\".");
  CHECK_THAT(error("m.bin", "abc"), ContainsSubstring("is in a format that is not recognized"));
  scope.files->make_folder("saved");
  write(*scope.files, "saved/saved_model.pb", "");
  CHECK_THAT(error_of([&] { model.load_weights("saved"); }), ContainsSubstring("is a SavedModel of TensorFlow"));
  CHECK_THAT(error_of([&] { model.load_weights("none.safetensors"); }), ContainsSubstring("cannot be read"));
}

}  // namespace etude
