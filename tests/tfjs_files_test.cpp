#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>

#include "built_model.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/tfjs_form.hpp"
#include "etude/saving/detail/tfjs_weights.hpp"
#include "files_in_memory.hpp"
#include "safetensors_samples.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Weights and models of TensorFlow.js.

namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

void write(Vfs& files, const std::string& path, std::string_view text) { files.open(path, false)->append(text); }

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

}  // namespace etude
