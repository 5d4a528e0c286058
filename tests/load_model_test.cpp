#include <catch2/catch_test_macros.hpp>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

using namespace etude;
using samples::waves;
using testing::error_of;
using testing::FilesInMemory;

namespace {

const Tensor x = waves({40, 6}), y = samples::signs_of(x);

std::unique_ptr<Model> drawing_model(const OptimizerPtr& optimizer) {
  auto model = std::make_unique<Sequential>(
      std::vector<LayerPtr>{layers::dense({.units = 8, .activation = "relu"}), layers::batch_normalization(),
                            layers::dropout(0.4), layers::dense({.units = 1, .activation = "sigmoid"})});
  model->compile({.optimizer = optimizer, .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  return model;
}

FitOptions epochs(int first, int last) {
  return {.batch_size = 16, .epochs = last, .verbose = 0, .initial_epoch = first};
}

/// All that training leaves in a model.
std::vector<Tensor> state_of(const Model& model) {
  std::vector<Tensor> result;
  for (const Variable& variable : model.variables()) result.push_back(variable.value());
  for (const Variable& variable : model.optimizer().variables()) result.push_back(variable.value());
  return result;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), testing::same_bits);
}

}  // namespace

TEST_CASE("a model that was saved and loaded goes on as if nothing had happened, to the last bit", "[saving]") {
  const FilesInMemory scope;
  const std::vector<std::pair<const char*, OptimizerPtr (*)()>> kinds{
      {"sgd", [] { return optimizers::sgd(); }},
      {"momentum", [] { return optimizers::sgd({.momentum = 0.9, .nesterov = true}); }},
      {"rmsprop", [] { return optimizers::rmsprop(); }},
      {"adam", [] { return optimizers::adam({.clipnorm = 1.0}); }},
      {"adamw with a schedule", [] {
         return optimizers::adamw(
             {.learning_rate = schedules::cosine_decay({.initial_learning_rate = 0.01, .decay_steps = 20})});
       }}};
  for (const auto& [name, make] : kinds) {
    CAPTURE(name);
    const auto model = drawing_model(make());
    model->fit(x, y, epochs(0, 2));
    model->save("model");
    const ModelPtr loaded = load_model("model");
    CHECK(same(state_of(*loaded), state_of(*model)));
    const auto history = model->fit(x, y, epochs(2, 4)), again = loaded->fit(x, y, epochs(2, 4));
    CHECK(again->history() == history->history());
    CHECK(same(state_of(*loaded), state_of(*model)));
  }
}

TEST_CASE("saving again replaces the model", "[saving]") {
  const FilesInMemory scope;
  Sequential model(samples::two_dense());
  model.compile(samples::mse());
  model.fit(x, y, epochs(0, 1));
  model.save("model");
  model.fit(x, y, epochs(1, 2));
  model.save("model");
  CHECK(same(load_model("model")->get_weights(), model.get_weights()));
}

TEST_CASE("a model that was never compiled, or is not to be, is loaded without an optimizer", "[saving]") {
  const FilesInMemory scope;
  Sequential model(samples::two_dense());
  model.build({-1, 6});
  model.save("model");
  CHECK_FALSE(load_model("model")->compiled());
  model.compile(samples::mse());
  model.save("model");
  CHECK(load_model("model")->compiled());
  CHECK_FALSE(load_model("model", {.compile = false})->compiled());
}

TEST_CASE("losses, metrics and weights of several outputs are compiled as they were", "[saving]") {
  const FilesInMemory scope;
  const SymbolicTensor in = layers::input({.shape = {6}, .name = "in"});
  Functional model({in}, {layers::dense({.units = 1, .name = "a"})->apply(in),
                          layers::dense({.units = 1, .activation = "sigmoid", .name = "b"})->apply(in)});
  model.compile({.optimizer = "adam",
                 .loss = {{"a", "mse"}, {"b", losses::binary_crossentropy({.label_smoothing = 0.1})}},
                 .loss_weights = {{"a", 0.5}, {"b", 2.0}},
                 .metrics = MetricsByName{{"b", {"accuracy"}}}});
  model.fit(Batch{{x}, {y, y}, {}}, epochs(0, 1));
  model.save("model");
  const ModelPtr loaded = load_model("model");
  const Batch data{{x}, {y, y}, {}};
  CHECK(loaded->evaluate(data, {.verbose = 0}).values() == model.evaluate(data, {.verbose = 0}).values());
}

TEST_CASE("weights are loaded by where layers stand, whatever they are called", "[saving]") {
  const FilesInMemory scope;
  Sequential model(samples::two_dense());
  model.build({-1, 6});
  model.save_weights("weights.safetensors");
  Sequential other({layers::dense({.units = 4, .name = "first"}), layers::dense({.units = 1, .name = "second"})});
  other.build({-1, 6});
  other.load_weights("weights.safetensors");
  CHECK(same(other.get_weights(), model.get_weights()));
  std::vector<std::string> names;
  for (const auto& [name, tensor] : load_safetensors("weights.safetensors").tensors) names.push_back(name);
  CHECK(names == std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias"});
}

TEST_CASE("weights of another model are an Error, and change nothing", "[saving]") {
  const FilesInMemory scope;
  Sequential model(samples::two_dense());
  model.build({-1, 6});
  model.save_weights("weights.safetensors");
  Sequential wider(samples::two_dense(5)), shorter({layers::dense({.units = 4})}),
      deeper({layers::dense({.units = 4}), layers::dense({.units = 1}), layers::dense({.units = 1})});
  for (Sequential* other : {&wider, &shorter, &deeper}) {
    other->build({-1, 6});
    const std::vector<Tensor> before = other->get_weights();
    CHECK(error_of([&] { other->load_weights("weights.safetensors"); }).starts_with("[load_weights \"weights."));
    CHECK(same(other->get_weights(), before));
  }
}

TEST_CASE("what cannot be saved or loaded is an Error that says why", "[saving]") {
  const FilesInMemory scope;
  Sequential unbuilt(samples::two_dense());
  CHECK(error_of([&] { unbuilt.save("model"); }).find("call build() or fit() first") != std::string::npos);
  CHECK(error_of([&] { unbuilt.save_weights("a.safetensors"); }).find("has no weights yet") != std::string::npos);
  unbuilt.build({-1, 6});
  CHECK(error_of([&] { unbuilt.save_weights("weights.h5"); }).find("ends with .safetensors") != std::string::npos);
  CHECK(error_of([] { load_model("nowhere"); }).starts_with("[load_model] \"nowhere\" holds no model - expected "));
  struct Own : Model {
    Value call(Value value, bool) override { return value; }
  } own;
  own.predict(x, {.verbose = 0});
  CHECK(error_of([&] { own.save("model"); }).find("save its weights instead") != std::string::npos);
}
