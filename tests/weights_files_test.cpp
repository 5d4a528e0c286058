#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "allocation_counter.hpp"
#include "etude/base/detail/archive.hpp"
#include "etude/saving/detail/file_format.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/tfjs_form.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"
#include "files_in_memory.hpp"
#include "fuzz/tf_checkpoints.hpp"
#include "golden_path.hpp"
#include "safetensors_samples.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Files of other libraries: of weights, and models of TensorFlow.js; and the formats that are recognized.
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

/// Counts how often each file is opened for reading.
struct CountingFiles : MemoryVfs {
  explicit CountingFiles(const MemoryVfs& others) : MemoryVfs(others) {}
  std::vector<std::byte> read(const std::string& path) override {
    ++opened[path];
    return MemoryVfs::read(path);
  }
  std::unique_ptr<FileSource> source(const std::string& path) override {
    ++opened[path];
    return MemoryVfs::source(path);
  }
  std::map<std::string, int> opened;
};

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

/// What `model.save({ save })` of @tensorflow/tfjs 4.22.0 gave for a bidirectional LSTM and a dense layer, compiled
/// with Adam; its downloads name files with "./".
constexpr std::string_view of_tfjs = R"({"format":"layers-model","generatedBy":"TensorFlow.js tfjs-layers v4.22.0",
"convertedBy":null,"modelTopology":{"class_name":"Sequential","config":{"name":"sequential_1","layers":[{"class_name":
"Bidirectional","config":{"merge_mode":"concat","layer":{"class_name":"LSTM","config":{"name":"lstm_LSTM1","trainable":
true,"units":2,"activation":"tanh","recurrent_activation":"sigmoid","use_bias":true,"kernel_initializer":{"class_name":
"VarianceScaling","config":{"scale":1,"mode":"fan_avg","distribution":"normal","seed":null}},"recurrent_initializer":{
"class_name":"Orthogonal","config":{"gain":1,"seed":null}},"bias_initializer":{"class_name":"Zeros","config":{}},
"unit_forget_bias":null,"kernel_regularizer":null,"recurrent_regularizer":null,"bias_regularizer":null,
"activity_regularizer":null,"kernel_constraint":null,"recurrent_constraint":null,"bias_constraint":null,"dropout":0,
"recurrent_dropout":0,"implementation":null,"return_sequences":false,"return_state":false,"go_backwards":false,
"stateful":false,"unroll":false}},"name":"bidirectional_Bidirectional1","trainable":true,"batch_input_shape":[null,3,2],
"dtype":"float32"}},{"class_name":"Dense","config":{"units":2,"activation":"softmax","use_bias":true,
"kernel_initializer":{"class_name":"VarianceScaling","config":{"scale":1,"mode":"fan_avg","distribution":"normal","seed":
null}},"bias_initializer":{"class_name":"Zeros","config":{}},"kernel_regularizer":{"class_name":"L1L2","config":{"l1":
0.01,"l2":0.01}},"bias_regularizer":null,"activity_regularizer":null,"kernel_constraint":null,"bias_constraint":null,
"name":"dense_Dense1","trainable":true}}]},"keras_version":"tfjs-layers 4.22.0","backend":"tensor_flow.js"},
"trainingConfig":{"loss":"mean_squared_error","metrics":{},"optimizer_config":{"class_name":"Adam","config":{
"learningRate":0.5,"beta1":0.9,"beta2":0.999,"epsilon":1e-7}}},"weightsManifest":[{"paths":["./weights.bin"],"weights":[
{"name":"bidirectional_Bidirectional1/forward_lstm_LSTM1/kernel","shape":[2,8],"dtype":"float32"},
{"name":"bidirectional_Bidirectional1/forward_lstm_LSTM1/recurrent_kernel","shape":[2,8],"dtype":"float32"},
{"name":"bidirectional_Bidirectional1/forward_lstm_LSTM1/bias","shape":[8],"dtype":"float32"},
{"name":"bidirectional_Bidirectional1/backward_lstm_LSTM1/kernel","shape":[2,8],"dtype":"float32"},
{"name":"bidirectional_Bidirectional1/backward_lstm_LSTM1/recurrent_kernel","shape":[2,8],"dtype":"float32"},
{"name":"bidirectional_Bidirectional1/backward_lstm_LSTM1/bias","shape":[8],"dtype":"float32"},
{"name":"dense_Dense1/kernel","shape":[4,2],"dtype":"float32"},{"name":"dense_Dense1/bias","shape":[2],"dtype":
"float32"},{"name":"iter","shape":[],"dtype":"int32","group":"optimizer"}]}]})";

TEST_CASE("TensorFlow.js: a model that it saved is loaded, compiled, and computes the same", "[saving]") {
  const FilesInMemory scope;
  write(*scope.files, "model.json", of_tfjs);
  std::vector<float> weights(91, 0);  // the last is the optimizer's iteration
  for (int i = 0; i < 90; ++i) weights[static_cast<std::size_t>(i)] = static_cast<float>(i * 7 % 11 - 5) / 8;
  write(*scope.files, "weights.bin", {reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(float)});
  const ModelPtr model = load_model("model.json");
  const Tensor x = Tensor::from<float>({2, 3, 2}, {0.5, -1, 0.25, 0.75, -0.5, 1, 1, 0, -0.25, 0.5, 0.75, -1});
  const Tensor expected =
      Tensor::from<float>({2, 2}, {0.27728715538978577f, 0.7227128148078918f, 0.2599945664405823f, 0.740005373954773f});
  CHECK(difference(model->predict(x, {.verbose = 0}), expected, {1e-6, 1e-6}) == "");
  CHECK(model->optimizer().learning_rate() == 0.5);
  CHECK_FALSE(load_model("model.json", {.compile = false})->compiled());
  Sequential other({layers::input_layer({.shape = {3, 2}}),
                    layers::bidirectional({.layer = layers::lstm({.units = 2})}), layers::dense({.units = 2})});
  const auto files = std::make_shared<CountingFiles>(*scope.files);
  other.load_weights("model.json", {.files = files});
  CHECK(alike(other, *model));
  CHECK(files->opened["model.json"] == 1);

  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text(of_tfjs);
    text.replace(text.find(from), from.size(), to);
    write(*scope.files, "model.json", text);
    return error_of([] { load_model("model.json"); });
  };
  CHECK_THAT(changed("dense_Dense1/bias", "dense_Dense2/bias"), ContainsSubstring("no tensor \"dense_Dense1/bias\""));
  CHECK_THAT(changed("layers-model", "graph-model"), ContainsSubstring("is a graph model of TensorFlow.js"));
  CHECK_THAT(changed("modelTopology", "topology"), ContainsSubstring("has no model as its \"modelTopology\""));
}

TEST_CASE("TensorFlow.js: its optimizers, its losses and its -1 of Reshape are loaded", "[saving]") {
  const FilesInMemory scope;
  const auto loaded = [&](const std::string& loss, const std::string& optimizer, const std::string& options) {
    write(*scope.files, "model.json",
          R"({"format": "layers-model", "modelTopology": {"class_name": "Sequential",
"config": {"name": "s", "layers": [{"class_name": "Reshape", "config": {"target_shape": [null, 2], "name": "r",
"batch_input_shape": [null, 6], "dtype": "float32"}}]}, "keras_version": "tfjs-layers 4.22.0", "backend":
"tensor_flow.js"}, "trainingConfig": {"loss": ")" +
              loss + R"(", "metrics": {}, "optimizer_config": {"class_name": ")" + optimizer +
              R"(", "config": {"learningRate": 0.5, )" + options +
              R"(}}}, "weightsManifest": [{"paths": [], "weights": []}]})");
    const ModelPtr model = load_model("model.json");
    CHECK(model->optimizer().learning_rate() == 0.5);
    CHECK(model->call_all({Tensor({2, 6}, DType::float32)}).front().shape() == Shape{2, 3, 2});
    return to_json<Optimizer>(model->optimizer());
  };
  CHECK_THAT(loaded("cosine_proximity", "RMSProp", R"("decay": 0.75, "momentum": 0.25, "epsilon": 0.125,
"centered": true)"),
             ContainsSubstring("\"RMSprop\"") && ContainsSubstring("\"rho\":0.75"));
  CHECK_THAT(loaded("hinge", "Momentum", R"("momentum": 0.25, "useNesterov": true)"),
             ContainsSubstring("\"SGD\"") && ContainsSubstring("\"nesterov\":true"));
  CHECK_THAT(loaded("logcosh", "Adagrad", R"("initialAccumulatorValue": 0.25)"),
             ContainsSubstring("\"initial_accumulator_value\":0.25"));
}

TEST_CASE("TensorFlow.js: a saved model has the form that it loads, and is loaded with the same weights", "[saving]") {
  const FilesInMemory scope;
  const SymbolicTensor a = layers::input({.shape = {3}, .name = "a"}), b = layers::input({.shape = {3}, .name = "b"});
  const auto inner =
      std::make_shared<Sequential>(std::vector<LayerPtr>{layers::leaky_relu({.negative_slope = 0.5, .name = "leaky"})},
                                   LayerOptions{.name = "inner"});
  const LayerPtr shared =
      layers::dense({.units = 3, .activation = "silu", .kernel_regularizer = "l2", .name = "shared"});
  const SymbolicTensor first = shared->apply(a), second = inner->apply(shared->apply(b));
  Functional model({a, b}, {apply_all(layers::add({.name = "sum"}), {first, second}).front()}, {.name = "two"});
  // @tensorflow/tfjs 4.22.0 loads this, and computes the same.
  CHECK(json_text(tfjs_topology(model_to_json(model))) ==
        json_text(parse_json(R"({"class_name": "Functional", "config": {"name": "two", "trainable": true, "layers": [
{"class_name": "InputLayer", "config": {"batch_input_shape": [null, 3], "dtype": "float32", "name": "a"}, "name": "a",
 "inbound_nodes": []},
{"class_name": "InputLayer", "config": {"batch_input_shape": [null, 3], "dtype": "float32", "name": "b"}, "name": "b",
 "inbound_nodes": []},
{"class_name": "Dense", "config": {"units": 3, "activation": "swish", "use_bias": true,
 "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
 "bias_initializer": {"class_name": "Zeros", "config": {}},
 "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.01}}, "bias_regularizer": null,
 "activity_regularizer": null, "kernel_constraint": null, "bias_constraint": null, "name": "shared",
 "dtype": "float32", "trainable": true}, "name": "shared", "inbound_nodes": [[["a", 0, 0, {}]], [["b", 0, 0, {}]]]},
{"class_name": "Sequential", "config": {"name": "inner", "trainable": true, "layers": [
 {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 3], "dtype": "float32", "name": "inner_input"}},
 {"class_name": "LeakyReLU", "config": {"alpha": 0.5, "name": "leaky", "dtype": "float32", "trainable": true}}]}, "name": "inner",
 "inbound_nodes": [[["shared", 1, 0, {}]]]},
{"class_name": "Add", "config": {"name": "sum", "dtype": "float32", "trainable": true}, "name": "sum",
 "inbound_nodes": [[["shared", 0, 0, {}], ["inner", 1, 0, {}]]]}],
"input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": [["sum", 0, 0]]},
"keras_version": "tfjs-layers 4.22.0", "backend": "tensor_flow.js"})",
                             "expected")));
  model.save("m/model.json");
  CHECK(scope.files->list("m") == std::vector<std::string>{"group1-shard1of1.bin", "model.json"});
  const Json saved = parse_json(text_in(*scope.files, "m/model.json"), "m/model.json");
  CHECK(saved["format"] == "layers-model");
  CHECK(saved["weightsManifest"][0]["weights"][1]["name"] == "shared/bias");
  const ModelPtr loaded = load_model("m/model.json");
  CHECK(alike(*loaded, model));
  CHECK(loaded->count_params() == 12);
  const LayerPtr again = layers::dense({.units = 3, .name = "again"});
  Sequential other({layers::input_layer({.shape = {3}}), again});
  other.load_weights("m/model.json");  // by the places of layers: names do not matter
  CHECK(alike(other, model));
  model.save("m/other.json");  // beside the first
  CHECK(scope.files->exists("m/other.group1-shard1of1.bin"));
}

TEST_CASE("TensorFlow.js: a layer or option that it lacks is an error, and nothing is written", "[saving][errors]") {
  const FilesInMemory scope;
  const auto error = [](const LayerPtr& layer) {
    Sequential model({layers::input_layer({.shape = {4, 4}}), layer});
    return error_of([&] { model.save("m/model.json"); });
  };
  CHECK(error(layers::gru({.units = 2, .name = "g"})) ==
        "[Model.save] GRU \"g\" with \"reset_after\": true - expected layers and options of TensorFlow.js - save a "
        ".keras file instead, or change the layer.");
  CHECK_THAT(error(layers::group_normalization({.groups = 2, .name = "n"})),
             ContainsSubstring("GroupNormalization \"n\", which TensorFlow.js lacks"));
  CHECK_THAT(error(layers::dense({.units = 2, .activation = "hard_sigmoid"})),
             ContainsSubstring("with the activation \"hard_sigmoid\""));
  CHECK_THAT(error(layers::time_distributed(
                 {.layer = layers::dense({.units = 2, .kernel_regularizer = "orthogonal_regularizer"})})),
             ContainsSubstring("with the regularizer OrthogonalRegularizer"));
  const SymbolicTensor x = layers::input({.shape = {3}});
  Functional model({x}, {ops::relu(x)});
  CHECK_THAT(error_of([&] { model.save("m/model.json"); }), ContainsSubstring("which is no layer in TensorFlow.js"));
  CHECK_FALSE(scope.files->exists("m"));
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
