#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "etude/etude.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "files_in_memory.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "training_samples.hpp"

using namespace etude;
using samples::waves;
using testing::error_of;
using testing::FilesInMemory;
using testing::kind_of;

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

std::vector<Tensor> optimizer_state_of(const Model& model) {
  std::vector<Tensor> result;
  for (const Variable& variable : model.optimizer().variables()) result.push_back(variable.value());
  return result;
}

/// The complete state of a trained model.
std::vector<Tensor> state_of(const Model& model) {
  std::vector<Tensor> result = optimizer_state_of(model);
  for (const Variable& variable : model.variables()) result.push_back(variable.value());
  return result;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), testing::same_bits);
}

}  // namespace

TEST_CASE("a saved and loaded model continues training with the same bits", "[saving]") {
  const FilesInMemory scope;
  const std::vector<std::pair<const char*, OptimizerPtr (*)()>> kinds{
      {"sgd", [] { return optimizers::sgd(); }},
      {"momentum", [] { return optimizers::sgd({.momentum = 0.9, .nesterov = true}); }},
      {"rmsprop", [] { return optimizers::rmsprop(); }},
      {"adam", [] { return optimizers::adam({.clipnorm = 1.0}); }},
      {"adamw with a schedule",
       [] {
         return optimizers::adamw(
             {.learning_rate = schedules::cosine_decay({.initial_learning_rate = 0.01, .decay_steps = 20})});
       }},
      {"sgd with a noisy schedule",
       [] {
         return optimizers::sgd({.learning_rate = schedules::noisy_linear_cosine_decay(
                                     {.initial_learning_rate = 0.01, .decay_steps = 20})});
       }},
      {"adafactor", [] { return optimizers::adafactor({.learning_rate = 0.01}); }},
      {"schedule-free", [] { return optimizers::schedule_free_adamw({.warmup_steps = 7}); }},
      {"several", [] {
         return optimizers::multi_optimizer({.default_optimizer = "adafactor",
                                             .optimizer_map = {{"dense.*/kernel", optimizers::adam({.clipnorm = 1})}}});
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

TEST_CASE("the optimizer of a fine-tuned model is saved with the state of each variable, in the order of layers",
          "[saving]") {
  const FilesInMemory scope;
  const auto losses_of = [](Model& model, int first, int last) {
    return (*model.fit(x, x, epochs(first, last)))["loss"];
  };
  for (const char* path : {"m", "m.keras"}) {
    CAPTURE(path);
    const LayerPtr base = layers::dense({.units = 6, .trainable = false}), head = layers::dense({.units = 6});
    Sequential model({base, head});
    const OptimizerPtr optimizer = optimizers::sgd({.learning_rate = 0.1, .momentum = 0.9});
    const auto compile = [&] { model.compile({.optimizer = optimizer, .loss = "mse"}); };
    compile();
    model.fit(x, x, epochs(0, 1));
    base->set_trainable(true);
    compile();
    model.fit(x, x, epochs(1, 2));
    model.save(path);
    const ModelPtr loaded = load_model(path);
    CHECK(losses_of(*loaded, 2, 4) == losses_of(model, 2, 4));
    // Without slots of variables that are not trained any more.
    base->set_trainable(false);
    compile();
    model.fit(x, x, epochs(4, 5));
    model.save(path);
    const ModelPtr again = load_model(path);
    CHECK(losses_of(*again, 5, 7) == losses_of(model, 5, 7));
  }
}

#if defined(__linux__)
TEST_CASE("a link to the folder of a saved model is loaded", "[saving]") {
  const testing::ScratchFolder folder("etude_link_test");
  const std::unique_ptr<Model> model = drawing_model(optimizers::sgd());
  model->fit(x, y, epochs(0, 1));
  const std::string link = folder.path() + "/latest";
  model->save(folder.path() + "/run5");
  std::filesystem::create_directory_symlink("run5", link);
  const Tensor expected = model->predict(x, {.verbose = 0});
  CHECK(testing::same_bits(load_model(link)->predict(x, {.verbose = 0}), expected));
  model->fit(x, y, epochs(1, 2));
  REQUIRE_FALSE(testing::same_bits(model->predict(x, {.verbose = 0}), expected));
  model->load_weights(link);
  CHECK(testing::same_bits(model->predict(x, {.verbose = 0}), expected));
}
#endif

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

TEST_CASE("a model that was never compiled, or with compile = false, is loaded without an optimizer", "[saving]") {
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

TEST_CASE("losses, metrics and weights of several outputs are compiled as before", "[saving]") {
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

TEST_CASE("weights are loaded by the paths of layers, under any layer names", "[saving]") {
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

TEST_CASE("weights are loaded from a saved model's folder, and from one of checkpoints, the newest", "[saving]") {
  const FilesInMemory scope;
  const auto model = drawing_model(optimizers::adam()), other = drawing_model(optimizers::adam());
  model->fit(x, y, epochs(0, 1));
  model->save("model");
  other->build({-1, 6});
  const std::vector<Tensor> before = other->get_weights();
  other->load_weights("model");
  CHECK(same(other->get_weights(), model->get_weights()));
  CHECK(other->optimizer().iterations() == 0);
  other->load_weights("model", {.map = {{"^dense/", "none/"}}, .skip_mismatch = true});  // as files of weights
  CHECK_THAT(error_of([&] { other->load_weights("model", {.map = {{"^dense/.*$", ""}}}); }),
             Catch::Matchers::ContainsSubstring("no tensor \"dense/kernel\" among 6"));

  CheckpointStore store("run");
  std::vector<NamedTensor> older;
  const std::vector<NamedTensor> newer = load_newest_checkpoint("model")->group("model");
  for (const auto& [name, tensor] : newer) older.push_back({name, Tensor(tensor.shape())});
  store.save({.step = 1, .tensors = {{"model", older}}});
  store.save({.step = 2, .tensors = {{"model", newer}}});
  other->set_weights(before);
  other->load_weights("run");
  CHECK(same(other->get_weights(), model->get_weights()));

  scope.files->open("run/ckpt-00000002/model.safetensors", true)->append("x");
  other->load_weights("run");  // the undamaged one, with a warning
  CHECK(same(other->get_weights(), [&] {
    std::vector<Tensor> zeros;
    for (const Tensor& each : before) zeros.emplace_back(each.shape());
    return zeros;
  }()));
  scope.files->open("run/ckpt-00000001/model.safetensors", true)->append("x");
  CHECK(error_of([&] { other->load_weights("run"); }).find("is undamaged") != std::string::npos);
  CheckpointStore("others").save({.step = 1, .tensors = {}});
  CHECK(error_of([&] { other->load_weights("others"); }).find("no \"model.safetensors\"") != std::string::npos);
  Sequential wider(samples::two_dense(9));
  wider.build({-1, 6});
  const std::vector<Tensor> kept = wider.get_weights();
  CHECK(kind_of([&] { wider.load_weights("model"); }) == ErrorKind::data);
  CHECK(same(wider.get_weights(), kept));
}

TEST_CASE("loading a model uses as many random streams as making one", "[saving]") {
  const FilesInMemory scope;
  const auto make = [] {
    return std::make_shared<Sequential>(std::vector<LayerPtr>{
        layers::dense({.units = 4}), layers::dropout(0.5),
        layers::dense({.units = 5, .kernel_initializer = "he_normal", .bias_initializer = "random_normal"}),
        layers::dense({.units = 1, .kernel_initializer = initializers::glorot_uniform({.seed = 3})})});
  };
  const auto next_kernel = [] {
    Sequential next({layers::dense({.units = 7})});
    next.build({-1, 6});
    return next.get_weights()[0];
  };
  const auto model = make();
  model->build({-1, 6});
  model->save("dense");
  const SymbolicTensor in = layers::input({.shape = {5, 3}});
  Functional recurrent({in}, {layers::lstm({.units = 2})->apply(in)});
  recurrent.save("recurrent");
  for (const char* folder : {"dense", "recurrent"}) {
    const std::string text = to_json<Layer>(*load_model(folder));
    set_random_seed(5);
    model_from_json(text);
    const Tensor made = next_kernel();
    set_random_seed(5);
    load_model(folder);
    CHECK(testing::same_bits(next_kernel(), made));
  }
}

TEST_CASE("models and weights are loaded from bytes, and from files other than the host's", "[saving]") {
  const auto memory = std::make_shared<MemoryVfs>();
  const auto model = drawing_model(optimizers::adam());
  model->fit(x, y, epochs(0, 1));
  {
    const FilesScope scope(memory);
    model->save("m.keras");
    model->save_weights("w.safetensors");
  }
  const auto predicted = [](Model& of) { return of.predict(x, {.verbose = 0}); };
  const Tensor expected = predicted(*model);
  CHECK(testing::same_bits(predicted(*load_model("m.keras", {.files = memory})), expected));
  const ModelPtr loaded = load_model(memory->read("m.keras"));
  CHECK(testing::same_bits(predicted(*loaded), expected));
  CHECK(same(optimizer_state_of(*loaded), optimizer_state_of(*model)));
  const auto continued = [](Model& of) { return (*of.fit(x, y, epochs(1, 3)))["loss"]; };
  CHECK(continued(*loaded) != continued(*model));  // its dropout draws anew
  CHECK_FALSE(load_model(memory->read("m.keras"), {.compile = false})->compiled());

  const auto other = drawing_model(optimizers::adam()), third = drawing_model(optimizers::adam());
  for (Model* each : {other.get(), third.get()}) each->build({-1, 6});
  other->load_weights(memory->read("w.safetensors"));
  third->load_weights("w.safetensors", {.files = memory});
  for (Model* each : {other.get(), third.get()}) CHECK(testing::same_bits(predicted(*each), expected));
  CHECK(kind_of([] { load_model(std::vector<std::byte>(9)); }) == ErrorKind::value);
}

TEST_CASE("an existing folder of such a name is loaded", "[saving]") {
  const FilesInMemory scope;
  Sequential model(samples::two_dense());
  model.build({-1, 6});
  model.save("model");
  scope.files->rename("model", "model.keras");
  CHECK(same(load_model("model.keras")->get_weights(), model.get_weights()));
}

TEST_CASE("attention and other layers that name their weights in parts are saved and loaded", "[saving]") {
  const FilesInMemory scope;
  const SymbolicTensor in = layers::input({.shape = {5, 3}});
  Functional model({in}, {layers::multi_head_attention({.num_heads = 2, .key_dim = 4})->apply({in, in})});
  model.save("model");
  CHECK(same(load_model("model")->get_weights(), model.get_weights()));
}

TEST_CASE("a stateful model is loaded with its batch size and its state", "[saving]") {
  const FilesInMemory scope;
  Sequential model({layers::dropout(0.25), layers::lstm({.units = 3, .stateful = true}), layers::dense({.units = 1})});
  const Tensor batch = waves({4, 5, 2});
  model.predict(batch, {.batch_size = 4, .verbose = 0});
  model.save("m");
  const ModelPtr loaded = load_model("m");
  const auto next = [&](Model& each) { return each.predict(batch, {.batch_size = 4, .verbose = 0}); };
  CHECK(testing::same_bits(next(*loaded), next(model)));
}

TEST_CASE("a model is saved with the shape of its build, regardless of later calls", "[saving]") {
  const FilesInMemory scope;
  Sequential model({layers::layer_normalization()});
  const Tensor wide = waves({4, 3});
  model.predict(wide, {.verbose = 0});
  model.predict(Tensor({3}), {.verbose = 0});
  model.save("m");
  const ModelPtr loaded = load_model("m");
  CHECK(testing::same_bits(loaded->predict(wide, {.verbose = 0}), model.predict(wide, {.verbose = 0})));
}
