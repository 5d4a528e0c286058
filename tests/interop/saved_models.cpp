// Trains models and saves them in every format that Étude writes, for keras_reads.py, tfjs_reads.mjs and onnx_web.mjs:
//   etude_saved_models FOLDER >FOLDER/models.txt
// Writes for each model into FOLDER/NAME: model.keras, model.weights.h5, model.safetensors, model.npz, tfjs/model.json,
// model.onnx, and data.json: {"batches": [{"x", "y"}], "weights", "predictions", "losses"}. Arrays are {"dtype",
// "shape", "values"}, in text, so that no format under test carries what is compared. The files have the state after
// some steps; "predictions" are those of the first batch at that state, "losses" those of the next 20 steps, one batch
// after another. Prints one line of JSON for each model: {"name", "steps", "optimizer", "refused": {FORMAT: message}}.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "etude/etude.hpp"

using namespace etude;
using nlohmann::ordered_json;

namespace {

constexpr int steps_before = 7, steps_after = 20, batches = 3;
constexpr std::int64_t rows = 8;
std::filesystem::path folder;

/// A model, and what it is trained on.
struct Subject {
  std::string name;
  ModelPtr model;
  CompileOptions options = {};
  /// Integers up to this number are the inputs of int32, and the targets of a loss of classes.
  int words = 9;
  /// The number of classes, if targets are integers.
  int classes = 0;
  /// Whether steps draw random numbers, so that no other library has the same losses.
  bool draws = false;
};

ordered_json text_of(const Tensor& tensor) {
  ordered_json values = ordered_json::array();
  for (std::int64_t i = 0; i < tensor.size(); ++i) values.push_back(tensor.at(i));
  const Shape& shape = tensor.shape();
  return {{"dtype", name_of(tensor.dtype())},
          {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
          {"values", values}};
}

ordered_json text_of(const std::vector<Tensor>& tensors) {
  ordered_json result = ordered_json::array();
  for (const Tensor& each : tensors) result.push_back(text_of(each));
  return result;
}

/// Numbers between -1 and 1, or integers below `words`, without zeros at the beginning of a row: they would be masked.
Tensor drawn(const Shape& shape, DType dtype, int words, double& phase) {
  Tensor result(shape, dtype);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    phase += 1.7;
    const double wave = std::sin(phase) * std::cos(phase * 0.37);
    if (dtype == DType::int32) {
      const bool ends = shape.rank() > 1 && i % shape[-1] > shape[-1] / 2;
      const auto word = static_cast<std::int32_t>((wave + 1) / 2 * words * 0.999);
      result.data<std::int32_t>()[static_cast<std::size_t>(i)] = ends || shape.rank() == 1 ? word : std::max(word, 1);
    } else {
      result.data<float>()[static_cast<std::size_t>(i)] = static_cast<float>(wave);
    }
  }
  return result;
}

/// The shape of so many rows.
Shape of_rows(const Shape& shape) { return shape.without(0).with(0, rows); }

Batch batch_of(const Subject& subject, double& phase) {
  Batch batch;
  for (const SymbolicTensor& input : subject.model->inputs())
    batch.x.push_back(drawn(of_rows(input.shape()), input.dtype(), subject.words, phase));
  for (const SymbolicTensor& output : subject.model->outputs())
    batch.y.push_back(subject.classes ? drawn({rows}, DType::int32, subject.classes, phase)
                                      : drawn(of_rows(output.shape()), DType::float32, 0, phase));
  return batch;
}

/// Writes one file, or notes why it is refused.
template <class Write> void attempt(ordered_json& line, const char* format, Write write) {
  try {
    write();
  } catch (const Error& error) {
    line["refused"][format] = error.what();
  }
}

void save(Subject subject) {
  Model& model = *subject.model;
  const std::filesystem::path into = folder / subject.name;
  std::filesystem::create_directories(into / "tfjs");
  model.compile(subject.options);
  std::vector<Batch> data;
  double phase = 0;
  for (int i = 0; i < batches; ++i) data.push_back(batch_of(subject, phase));
  int step = 0;
  const auto train = [&] { return model.train_on_batch(data[static_cast<std::size_t>(step++ % batches)])["loss"]; };
  while (step < steps_before) train();

  ordered_json line{{"name", subject.name},
                    {"steps", step},
                    {"optimizer", model.optimizer().description().class_name()},
                    {"draws", subject.draws},
                    {"refused", ordered_json::object()}};
  attempt(line, ".keras", [&] { model.save(into / "model.keras"); });
  attempt(line, ".weights.h5", [&] { model.save_weights(into / "model.weights.h5"); });
  attempt(line, ".safetensors", [&] { model.save_weights(into / "model.safetensors"); });
  attempt(line, ".npz", [&] { model.save_weights(into / "model.npz"); });
  attempt(line, "TensorFlow.js", [&] { model.save(into / "tfjs/model.json"); });
  attempt(line, "ONNX", [&] { model.export_model(into / "model.onnx"); });

  ordered_json content;
  for (const Batch& each : data) content["batches"].push_back({{"x", text_of(each.x)}, {"y", text_of(each.y)}});
  std::vector<Tensor> weights;
  for (const Variable& each : model.weights()) weights.push_back(each.value());
  content["weights"] = text_of(weights);
  content["predictions"] = text_of(model.predict_outputs_on_batch(Batch{data[0].x, {}, {}}));
  content["losses"] = ordered_json::array();
  while (step < steps_before + steps_after) content["losses"].push_back(train());
  std::ofstream(into / "data.json") << content.dump();
  std::cout << line.dump() << std::endl;
}

/// A model of layers in sequence, for samples of this shape.
ModelPtr sequence(const Shape& shape, const std::vector<LayerPtr>& layers, const char* dtype = "") {
  std::vector<LayerPtr> all{layers::input_layer({.shape = shape, .dtype = dtype})};
  all.insert(all.end(), layers.begin(), layers.end());
  return std::make_shared<Sequential>(all);
}

ModelPtr perceptron(double rate) {
  return sequence({6}, {layers::dense({.units = 12, .activation = "relu", .kernel_regularizer = "l2"}),
                        layers::batch_normalization(), layers::dropout({.rate = rate}),
                        layers::dense({.units = 4, .activation = "softmax"})});
}

ModelPtr images() {
  return sequence({8, 8, 3},
                  {layers::conv2d({.filters = 6, .kernel_size = 3, .padding = "same", .activation = "relu"}),
                   layers::batch_normalization(), layers::max_pooling2d({.pool_size = 2}),
                   layers::depthwise_conv2d({.kernel_size = 3, .padding = "same"}),
                   layers::separable_conv2d({.filters = 5, .kernel_size = 2, .activation = "elu"}),
                   layers::conv2d_transpose({.filters = 4, .kernel_size = 3, .strides = 2, .padding = "same"}),
                   layers::global_average_pooling2d(), layers::dense({.units = 3})});
}

/// With `reset_after`, only Keras has its layers.
ModelPtr words(bool reset_after) {
  return sequence({6},
                  {layers::embedding({.input_dim = 9, .output_dim = 5, .mask_zero = true}),
                   layers::bidirectional({.layer = layers::lstm({.units = 4, .return_sequences = true})}),
                   layers::gru({.units = 4, .reset_after = reset_after}), layers::dense({.units = 2})},
                  "int32");
}

/// A decoder of words, or of numbers, that starts from the states of an encoder, with masks.
ModelPtr decoder(bool of_words) {
  const SymbolicTensor x = layers::input({.shape = {6}, .dtype = "int32", .name = "x"});
  const SymbolicTensor target = of_words ? layers::input({.shape = {5}, .dtype = "int32", .name = "target"})
                                         : layers::input({.shape = {5, 3}, .name = "target"});
  const LayerPtr embedding = layers::embedding({.input_dim = 9, .output_dim = 3, .mask_zero = true});
  const auto states = layers::lstm({.units = 4, .return_state = true})->apply_all({embedding->apply(x)});
  const SymbolicTensor steps =
      of_words ? embedding->apply(target) : layers::masking()->apply(layers::relu()->apply(target));
  const SymbolicTensor y = layers::lstm({.units = 4})->apply({steps, states[1], states[2]});
  return std::make_shared<Functional>(SymbolicTensors{x, target},
                                      SymbolicTensors{layers::dense({.units = 2})->apply(y)});
}

/// A block of a transformer.
ModelPtr attention() {
  const SymbolicTensor tokens = layers::input({.shape = {6}, .dtype = "int32", .name = "tokens"});
  const SymbolicTensor x = layers::embedding({.input_dim = 9, .output_dim = 8})->apply(tokens);
  const SymbolicTensor mixed = layers::multi_head_attention({.num_heads = 2, .key_dim = 4})->apply({x, x});
  const SymbolicTensor y = layers::layer_normalization()->apply(x + mixed);
  const SymbolicTensor wide = layers::dense({.units = 16, .activation = "gelu"})->apply(y);
  const SymbolicTensor narrow = layers::dense({.units = 8})->apply(wide);
  const SymbolicTensor pooled = layers::global_average_pooling1d()->apply(layers::add()->apply({y, narrow}));
  return std::make_shared<Functional>(SymbolicTensors{tokens},
                                      SymbolicTensors{layers::dense({.units = 3})->apply(pooled)});
}

/// Two inputs and two outputs, a layer that is used twice, and a model among its layers.
ModelPtr shared() {
  const SymbolicTensor a = layers::input({.shape = {4}, .name = "a"});
  const SymbolicTensor b = layers::input({.shape = {5, 4}, .name = "b"});
  const LayerPtr twice = layers::dense({.units = 4, .activation = "tanh", .name = "twice"});
  const ModelPtr inner = sequence({5, 4}, {layers::time_distributed({.layer = layers::dense({.units = 4})}),
                                           layers::conv1d({.filters = 4, .kernel_size = 2})});
  const SymbolicTensor pooled = layers::global_max_pooling1d()->apply(inner->apply(b));
  const SymbolicTensor both =
      layers::concatenate()->apply({twice->apply(a), twice->apply(pooled), layers::multiply()->apply({a, pooled})});
  return std::make_shared<Functional>(SymbolicTensors{a, b},
                                      SymbolicTensors{layers::dense({.units = 2, .name = "one"})->apply(both),
                                                      layers::layer_normalization({.name = "two"})->apply(pooled)});
}

/// For each optimizer.
ModelPtr small() {
  return sequence({5}, {layers::dense({.units = 6, .activation = "tanh"}), layers::dense({.units = 3})});
}

std::vector<Subject> models() {
  using namespace optimizers;
  const Choice<Loss> classes = "sparse_categorical_crossentropy";
  std::vector<Subject> result;
  result.push_back({"perceptron",
                    perceptron(0),
                    {.optimizer = adam({.learning_rate = 0.01}), .loss = classes, .metrics = {"accuracy"}}});
  result.back().classes = 4;
  result.push_back({"dropout", perceptron(0.3), {.optimizer = "adam", .loss = classes}});
  result.back().classes = 4;
  result.back().draws = true;
  result.push_back({"images",
                    images(),
                    {.optimizer = sgd({.learning_rate = schedules::exponential_decay(
                                           {.initial_learning_rate = 0.05, .decay_steps = 10, .decay_rate = 0.5}),
                                       .momentum = 0.9,
                                       .nesterov = true}),
                     .loss = "mse"}});
  result.push_back({"words", words(false), {.optimizer = rmsprop({.learning_rate = 0.01}), .loss = "mse"}});
  result.push_back(
      {"words_reset_after", words(true), {.optimizer = adam({.amsgrad = true, .clipnorm = 0.5}), .loss = "huber"}});
  result.push_back({"decoder_of_words", decoder(true), {.optimizer = "adam", .loss = "mse"}});
  result.push_back({"decoder_of_numbers", decoder(false), {.optimizer = "adam", .loss = "mse"}});
  result.push_back(
      {"attention", attention(), {.optimizer = adamw({.learning_rate = 0.01, .global_clipnorm = 0.3}), .loss = "mse"}});
  result.push_back({"shared_by_name",
                    shared(),
                    {.optimizer = "nadam",
                     .loss = {{"one", "mse"}, {"two", "huber"}},
                     .loss_weights = {{"two", 0.5}},
                     .metrics = {{"one", {"mae", "mse"}}}}});
  result.push_back({"shared",
                    shared(),
                    {.optimizer = adam({.use_ema = true, .ema_momentum = 0.9}),
                     .loss = "mse",
                     .loss_weights = std::vector<double>{1, 0.5},
                     .metrics = {"mae"}}});
  return result;
}

/// One small model for each optimizer, by its config.
std::vector<Subject> models_of_optimizers() {
  const std::pair<const char*, const char*> configs[] = {
      {"SGD", R"({"momentum": 0.9, "weight_decay": 0.01, "clipvalue": 0.1})"},
      {"RMSprop", R"({"centered": true, "momentum": 0.5})"},
      {"Adam", R"({"use_ema": true, "ema_momentum": 0.8, "ema_overwrite_frequency": 4})"},
      {"Adam", R"({"gradient_accumulation_steps": 3})"},
      {"AdamW", R"({"weight_decay": 0.02, "clipnorm": 0.2})"},
      {"Adamax", "{}"},
      {"Nadam", "{}"},
      {"Adagrad", "{}"},
      {"Adadelta", R"({"learning_rate": 1.0})"},
      {"Adafactor", "{}"},
      {"Ftrl", R"({"learning_rate": 0.05, "l1_regularization_strength": 0.01})"},
      {"Lion", "{}"},
      {"Lamb", "{}"},
      {"Muon", "{}"},
      {"ScheduleFreeAdamW", "{}"},
      {"LossScaleOptimizer",
       R"({"inner_optimizer": {"class_name": "Adam", "config": {}}, "dynamic_growth_steps": 5})"}};
  std::vector<Subject> result;
  for (const auto& [name, config] : configs) {
    const std::string text = std::string(R"({"class_name": ")") + name + R"(", "config": )" + config + '}';
    const std::string number = result.empty() ? "" : '_' + std::to_string(result.size());
    result.push_back(
        {"optimizer_" + std::string(name) + number, small(), {.optimizer = from_json<Optimizer>(text), .loss = "mse"}});
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "etude_saved_models FOLDER\n";
    return 2;
  }
  folder = arguments[1];
  set_random_seed(5);
  for (const Subject& subject : models()) save(subject);
  for (const Subject& subject : models_of_optimizers()) save(subject);
}
