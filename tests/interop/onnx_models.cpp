// Exports models to ONNX for onnx_models.py:
//   etude_onnx_models FOLDER
// Writes for each model NAME.onnx, and NAME.npz with inputs "x0", … and Étude's outputs "y0", …; and prints one line of
// JSON: {"name", "arrays": [files]}, or {"name", "error"} for a model that is refused. Models are each op with each of
// its cases, each layer, and some of several layers.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "config_samples.hpp"
#include "layer_subjects.hpp"
#include "op_cases.hpp"

using namespace etude;
using nlohmann::ordered_json;

namespace {

std::filesystem::path folder;

/// A model of one function, or of one layer.
class OneLayer : public Model {
 public:
  explicit OneLayer(LayerPtr layer) : layer_(std::move(layer)) { set_built(); }
  std::vector<LayerPtr> layers() const override { return {layer_}; }
  Value call(Value x, bool training) override { return (*layer_)(x, training); }
  Outputs call_with(const std::vector<Value>& x, bool training) override { return (*layer_)(x, training); }

 private:
  LayerPtr layer_;
};

/// The file of a name, which may contain any text.
std::string file_of(std::string name, const std::string& ending) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return (folder / (name + ending)).string();
}

void write_arrays(Model& model, const std::vector<Tensor>& inputs, const std::string& path) {
  std::vector<std::pair<std::string, Tensor>> arrays;
  const auto add = [&](char kind, const std::vector<Tensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i]) arrays.emplace_back(kind + std::to_string(i), tensors[i]);
  };
  add('x', inputs);
  add('y', model.call_all(inputs));
  write_npz(path, arrays);
}

/// Exports a model. Its inputs are those of each of `batches`.
void export_one(const std::string& name, Model& model, const std::vector<std::vector<Tensor>>& batches,
                const ExportOptions& options = {}) {
  ordered_json line{{"name", name}};
  try {
    model.export_model(file_of(name, ".onnx"), options);
    line["file"] = file_of(name, ".onnx");
    for (std::size_t i = 0; i < batches.size(); ++i) {
      line["arrays"].push_back(file_of(name, '.' + std::to_string(i) + ".npz"));
      write_arrays(model, batches[i], line["arrays"].back());
    }
  } catch (const Error& error) {
    line["error"] = error.what();
  }
  std::cout << line.dump() << '\n';
}

/// Inputs of the shapes of these, for any number of rows unless `fixed`.
std::vector<InputSpec> signature_of(const std::vector<Tensor>& inputs, bool fixed) {
  std::vector<InputSpec> signature;
  for (const Tensor& x : inputs) {
    signature.push_back({x.shape(), std::string(name_of(x.dtype()))});
    if (!fixed) signature.back().shape[0] = -1;
  }
  return signature;
}

void export_ops(int opset_version) {
  for (const testing::OpCase& one : testing::all_cases()) {
    std::vector<Tensor> inputs = one.draw(3, DType::float32);
    if (inputs.empty()) inputs.emplace_back(Shape{1});  // of a constant
    OneLayer model(layers::lambda([&](const std::vector<Value>& x) -> Outputs { return one.function(x); }));
    export_one("op " + one.name + ' ' + std::to_string(opset_version), model, {inputs},
               {.input_signature = signature_of(inputs, true), .opset_version = opset_version});
  }
}

void export_layers() {
  for (const auto& [name, subject] : testing::subjects()) {
    nlohmann::json config = samples::needed(name);
    config.update(subject.config);
    OneLayer model(testing::layer_of(name, config));
    const std::vector<Tensor> inputs = testing::inputs_of(subject, 3);
    model.call_all(inputs);
    export_one("layer " + name, model, {inputs, testing::inputs_of(subject, 2), testing::inputs_of(subject, 1)},
               {.input_signature = signature_of(inputs, false)});
  }
}

/// A model of layers in sequence, for samples of this shape.
ModelPtr sequence(const Shape& shape, const std::vector<LayerPtr>& layers, const char* dtype = "") {
  std::vector<LayerPtr> all{layers::input_layer({.shape = shape, .dtype = dtype})};
  all.insert(all.end(), layers.begin(), layers.end());
  return std::make_shared<Sequential>(all);
}

ModelPtr perceptron() {
  return sequence({8}, {layers::dense({.units = 16, .activation = "relu"}), layers::dropout({.rate = 0.5}),
                        layers::dense({.units = 10, .activation = "softmax"})});
}

/// Convolutions of all kinds, with poolings and normalizations.
ModelPtr convolutions() {
  return sequence({12, 12, 3},
                  {layers::conv2d({.filters = 8, .kernel_size = 3, .padding = "same", .activation = "relu"}),
                   layers::batch_normalization(), layers::max_pooling2d({.pool_size = 2}),
                   layers::depthwise_conv2d({.kernel_size = 3, .strides = 2, .padding = "same"}),
                   layers::conv2d_transpose({.filters = 4, .kernel_size = 3, .strides = 2, .padding = "same"}),
                   layers::average_pooling2d({.pool_size = 3, .strides = 2, .padding = "same"}),
                   layers::separable_conv2d({.filters = 6, .kernel_size = 2}), layers::global_average_pooling2d(),
                   layers::dense({.units = 4, .activation = "softmax"})});
}

ModelPtr recurrent() {
  return sequence({9},
                  {layers::embedding({.input_dim = 20, .output_dim = 6, .mask_zero = true}),
                   layers::bidirectional({.layer = layers::lstm({.units = 5, .return_sequences = true})}),
                   layers::gru({.units = 4, .return_sequences = true, .go_backwards = true}),
                   layers::simple_rnn({.units = 3}), layers::dense({.units = 2})},
                  "int32");
}

/// A block of a transformer.
ModelPtr attention() {
  const SymbolicTensor tokens = layers::input({.shape = {7}, .dtype = "int32", .name = "tokens"});
  const SymbolicTensor x = layers::embedding({.input_dim = 20, .output_dim = 8})->apply(tokens);
  const SymbolicTensor mixed = layers::multi_head_attention({.num_heads = 2, .key_dim = 4})->apply({x, x});
  const SymbolicTensor y = layers::layer_normalization()->apply(x + mixed);
  const SymbolicTensor wide = layers::dense({.units = 16, .activation = "gelu"})->apply(y);
  const SymbolicTensor narrow = layers::dense({.units = 8})->apply(wide);
  return std::make_shared<Functional>(SymbolicTensors{tokens},
                                      SymbolicTensors{layers::layer_normalization()->apply(y + narrow)});
}

/// Two inputs and two outputs, by name, with a layer that is used twice.
ModelPtr named() {
  const SymbolicTensor age = layers::input({.shape = {3}, .name = "age"});
  const SymbolicTensor photo = layers::input({.shape = {3}, .dtype = "int32", .name = "photo"});
  const LayerPtr shared = layers::dense({.units = 4, .activation = "tanh"});
  const SymbolicTensor both = layers::concatenate()->apply({shared->apply(age), shared->apply(photo * 1.0)});
  return std::make_shared<Functional>(
      SymbolicTensors{{"age", age}, {"photo", photo}},
      SymbolicTensors{{"price", layers::dense({.units = 1})->apply(both)}, {"risk", layers::softmax()->apply(both)}});
}

/// Random weights, moving averages too, so that none of them is neutral.
void randomize(Model& model) {
  Random random = testing::draws(11);
  for (Variable variable : model.weights())
    variable.assign(testing::random_tensor(random, variable.shape(), variable.dtype(), 0.1, 0.9));
}

void export_models() {
  const std::pair<const char*, ModelPtr> models[] = {{"perceptron", perceptron()},
                                                     {"convolutions", convolutions()},
                                                     {"recurrent", recurrent()},
                                                     {"attention", attention()},
                                                     {"named", named()}};
  for (const auto& [name, model] : models) {
    randomize(*model);
    std::vector<std::vector<Tensor>> batches;
    for (const std::int64_t batch : {1, 5}) {
      Random random = testing::draws(3);
      std::vector<Tensor>& inputs = batches.emplace_back();
      for (const SymbolicTensor& input : model->inputs()) {
        const Shape shape = input.shape().without(0).with(0, batch);
        inputs.push_back(testing::random_tensor(random, shape, input.dtype(), is_floating(input.dtype()) ? -1 : 0,
                                                is_floating(input.dtype()) ? 1 : 9));
      }
    }
    export_one(name, *model, batches);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "etude_onnx_models FOLDER\n";
    return 2;
  }
  folder = arguments[1];
  std::filesystem::create_directories(folder);
  for (const int version : {17, 18, 22}) export_ops(version);
  export_layers();
  export_models();
}
