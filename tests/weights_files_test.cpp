#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "allocation_counter.hpp"
#include "built_model.hpp"
#include "etude/base/detail/archive.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"
#include "files_in_memory.hpp"
#include "fuzz/tf_checkpoints.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Files of weights of other libraries, and the formats that are recognized.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

void write(Vfs& files, const std::string& path, std::string_view text) { files.open(path, false)->append(text); }

const LoadWeightsOptions torch_rules{.map = {{"^encoder\\.conv\\.", "conv2d/"},
                                             {"^encoder\\.norm\\.weight$", "batch_normalization/gamma"},
                                             {"^encoder\\.norm\\.bias$", "batch_normalization/beta"},
                                             {"^encoder\\.norm\\.running_mean$", "batch_normalization/moving_mean"},
                                             {"^encoder\\.norm\\.running_var$", "batch_normalization/moving_variance"},
                                             {"^(head)\\.", "dense/"},
                                             {"/weight$", "/kernel"},
                                             {"^.*num_batches_tracked$|^[xy]$", ""}},
                                     .transpose = "(conv|head)\\.weight$"};

/// Writes a checkpoint of TensorFlow of a model of dense layers without biases.
void write_tf_checkpoint(const Model& model, Vfs& files, const std::string& prefix) {
  std::vector<std::pair<std::string, std::uint64_t>> layers;
  std::vector<std::string> objects{""};
  TfEntries entries;
  std::string data, graph;
  for (const Tensor& kernel : model.get_weights()) {
    const std::string layer = "layer_with_weights-" + std::to_string(layers.size());
    const std::string key = layer + "/kernel/.ATTRIBUTES/VARIABLE_VALUE";
    const std::string_view bytes(reinterpret_cast<const char*>(kernel.raw()), kernel.bytes());
    std::vector<std::uint64_t> shape;
    for (const std::int64_t extent : kernel.shape()) shape.push_back(static_cast<std::uint64_t>(extent));
    entries.emplace_back(key, entry_of(1, shape, data.size(), bytes));
    data += bytes;
    layers.emplace_back(layer, objects.size());
    objects.push_back(object_of({{"kernel", objects.size() + 1}}));
    objects.push_back(variable_of(key));
  }
  objects.front() = object_of(layers);
  for (const std::string& object : objects) graph += field(1, object);
  const auto [entry, stored] = text_entry(graph, data.size());
  entries.emplace(entries.begin(), "_CHECKPOINTABLE_OBJECT_GRAPH", entry);
  write(files, prefix + ".index", table_of({{{"", TfSample().header}}, entries}));
  write(files, prefix + ".data-00000-of-00001", data + stored);
}

}  // namespace

TEST_CASE("weights: a .npz file holds them under the same names, and NumPy's other files are loaded", "[saving]") {
  const FilesInMemory scope;
  const Built model;
  model.save_weights("w.npz");
  const auto arrays = read_npz("w.npz");
  CHECK(arrays.size() == 4);
  CHECK(arrays.at("dense_1/kernel").shape() == Shape{4, 1});
  const std::vector others{samples::waves({6, 4}), samples::waves({4}), samples::waves({4, 1}), samples::waves({1})};
  Built other;
  other.set_weights(others);
  other.load_weights("w.npz");
  CHECK(alike(other, model));
  std::vector<std::pair<std::string, Tensor>> doubles;
  for (const auto& [name, array] : arrays) doubles.emplace_back("model/" + name, array.astype(DType::float64));
  write_npz("doubles.npz", doubles, {.compressed = true});
  Built third;
  third.set_weights(others);
  third.load_weights("doubles.npz", {.map = {{"^model/", ""}}});
  CHECK(alike(third, model));
}

TEST_CASE("weights: a model of PyTorch computes the same after its tensors are renamed and its kernels transposed",
          "[saving]") {
  const std::string path = golden_path("torch_model.safetensors");
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
  LoadWeightsOptions rules = torch_rules;
  rules.map.pop_back();  // the number of batches is of the dtype I64
  CHECK_THAT(error_of([&] { model.load_weights(path, rules); }), ContainsSubstring("has dtype \"I64\""));
  rules.skip_mismatch = true;
  const std::vector<Tensor> weights = model.get_weights();
  for (const Variable& weight : model.weights()) Variable(weight).fill(0);
  model.load_weights(path, rules);
  const std::vector<Tensor> loaded = model.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(same_bits(loaded[i], weights[i]));
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
        "\"dense_1/weight\" - expected the names of the model's 4 weights - load the file into a model of the same "
        "layers, or rename its tensors by `map`.");
  CHECK_THAT(error({.map = {{"_1", ""}}}), ContainsSubstring("are both named \"dense/kernel\""));
  CHECK_THAT(error({.map = {{"(", ""}}}), ContainsSubstring("map with the pattern \"(\""));
  CHECK_THAT(error({.transpose = "["}), ContainsSubstring("transpose = \"[\""));
  CHECK_THAT(error({.transpose = "bias"}), ContainsSubstring("\"dense/bias\" of shape [4] - expected a kernel"));
  CHECK_THAT(error({.transpose = "dense/kernel"}), ContainsSubstring("\"dense/kernel\" of shape [4, 6]"));
  CHECK_THAT(error({.map = {{"^dense/.*$", ""}}}), ContainsSubstring("no tensor \"dense/kernel\" among 2"));
  Sequential first({layers::input_layer({.shape = {6}}), layers::dense({.units = 4})});
  CHECK_THAT(error_of([&] { first.load_weights("w.safetensors"); }),
             ContainsSubstring("tensors \"dense_1/kernel\", \"dense_1/bias\" beside those of the model's 2 weights"));
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(same_bits(other.get_weights()[i], before[i]));
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
  const auto zeros = [&] {
    for (Variable weight : other.weights()) weight.assign(Tensor(weight.shape()));
  };
  zeros();
  CHECK(peak_of([&] { other.load_weights(folder); }) < tensor + buffers);
  CHECK(alike(other, model));
  zeros();
  write_tf_checkpoint(model, *host().files, scratch.path() + "/ckpt");
  CHECK(peak_of([&] { other.load_weights(scratch.path() + "/ckpt"); }) < tensor + buffers);
  CHECK(alike(other, model));
}

TEST_CASE("weights: bytes that are given are not copied", "[saving]") {
  constexpr std::size_t units = 500, tensor = units * units * sizeof(float), buffers = 300'000;
  Sequential model({layers::dense({.units = units, .use_bias = false})});
  model.build({-1, units});
  const FilesInMemory scope;
  model.save("m.keras");
  model.save_weights("m.safetensors");
  const std::vector<std::byte> whole = scope.files->read("m.keras"), weights = scope.files->read("m.safetensors");
  const WatchedMemory memory;
  load_model(whole);
  CHECK(memory.peak() < 2 * tensor + buffers);  // the model, and one tensor
  const WatchedMemory again;
  model.load_weights(weights);
  CHECK(again.peak() < tensor + buffers);
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
  write(*scope.files, "hf/cut.safetensors.index.json", R"({"metadata": {}, "weight_map": {"dense/)");
  Built other;
  CHECK_THAT(error_of([&] { other.load_weights("hf/cut.safetensors.index.json", {.map = {{"a", "b"}}}); }),
             ContainsSubstring("is not valid JSON"));
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
  CHECK(format_of("missing.json", files) == FileFormat::tfjs);
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
  files.make_folder("s");
  files.make_folder("s/ckpt-00000001");
  CHECK(folder("s", "checkpoint") == FileFormat::etude_folder);  // beside files of others
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
        "safetensors, as .npz, in the folder of a saved model, or as a model.json of TensorFlow.js - in Python, save "
        "what "
        "\"torch.load(path, weights_only=True)\" returns by \"safetensors.torch.save_file\".");
  CHECK_THAT(error("m.bin", "abc"), ContainsSubstring("is in a format that is not recognized"));
  scope.files->make_folder("saved");
  write(*scope.files, "saved/saved_model.pb", "");
  CHECK_THAT(error_of([&] { model.load_weights("saved"); }), ContainsSubstring("is a SavedModel of TensorFlow"));
  CHECK(
      error_of([] { load_model("saved"); }) ==
      "[load_model] \"saved\" is a SavedModel of TensorFlow, which contains code - expected the folder of a saved "
      "model, a .keras file, an .h5 file of Keras 2, or a model.json of TensorFlow.js - in Python, save its weights by "
      "\"numpy.savez('weights', **{f'{i}/{v.name}': v for i, v in "
      "enumerate(tf.saved_model.load(path).variables)})\".");
  const auto folder_error = [&](const std::string& folder, const std::string& file) {
    scope.files->make_folder(folder);
    write(*scope.files, folder + '/' + file, "");
    return error_of([&] { load_model(folder); });
  };
  CHECK_THAT(folder_error("js", "model.json"), ContainsSubstring("\"js\" is a model of TensorFlow.js") &&
                                                   ContainsSubstring("by the path of its model.json"));
  for (const char* file : {"checkpoint", "ckpt-1.index", "cp.data-00000-of-00001"})
    CHECK_THAT(folder_error("tf" + std::string(file), file), ContainsSubstring("is a checkpoint of TensorFlow") &&
                                                                 ContainsSubstring("tf.train.load_checkpoint(path)"));
  CHECK_THAT(folder_error("other", "a.txt"), ContainsSubstring("holds no model"));
  CHECK_THAT(error_of([&] { model.load_weights("none.safetensors"); }), ContainsSubstring("cannot be read"));
}

}  // namespace etude
