#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "console_text.hpp"
#include "etude/base/detail/archive.hpp"
#include "etude/etude.hpp"
#include "etude/saving/hdf5/detail/hdf5_reader.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "training_samples.hpp"

// Files of Keras: .keras, .weights.h5, and .h5 of Keras 2. Those in tests/golden/keras are of Keras 3.15.1 on JAX and
// of tf-keras 2.15.1: see tests/golden/make_keras_files.py and make_keras_states.py.

using namespace etude;
using namespace etude::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// The models of "keras3", of "keras2", or of "texts": these are of Keras 3 on TensorFlow.
std::vector<json> models_of(const std::string& part) {
  const json files = golden("keras_files.json"), states = golden("keras_states.json");
  std::vector<json> models = states.at(part).at("models");
  if (files.contains(part))
    for (const json& each : files.at(part).at("models")) models.push_back(each);
  return models;
}

std::vector<Tensor> inputs_of(const json& test) {
  std::vector<Tensor> x;
  for (const json& each : test.at("inputs")) x.push_back(tensor_of_lists(each));
  return x;
}

bool is_model(const std::string& file) { return file.find("weights") == file.npos; }

/// Computes what Keras computed, and goes on training with its losses.
void check_model(Model& model, const json& test, bool trains = true) {
  // The model "movies" computes in bfloat16, at the end.
  const Tolerance tolerance =
      test.at("files").at(0) == "keras/movies.keras" ? Tolerance{0.01, 0.01} : Tolerance{1e-5, 1e-5};
  CHECK(difference(model.call_all(inputs_of(test)).front(), tensor_of_lists(test.at("y")), tolerance) == "");
  if (!trains || !test.contains("losses")) return;
  REQUIRE(model.compiled());
  for (const json& loss : test.at("losses")) {
    Logs logs = model.train_on_batch(Batch{inputs_of(test), {tensor_of_lists(test.at("targets"))}, {}});
    CHECK(std::abs(logs["loss"] - loss.get<double>()) < 1e-4);
  }
}

/// The datasets in a file of HDF5, with their shapes.
std::vector<std::string> datasets_of(hdf5::Reader file) {
  std::vector<std::string> result;
  for (const std::string& path : file.datasets())
    result.push_back(path + ' ' + file.dataset(path).shape.to_string() + ' ' +
                     std::string(name_of(file.dataset(path).number)));
  return result;
}

std::vector<std::string> datasets_of_archive(const std::vector<std::byte>& bytes) {
  const auto archive = open_archive(bytes, "test");
  return datasets_of({std::make_shared<MemorySource>(archive->read_all(*archive->find("model.weights.h5"))), "test"});
}

std::unique_ptr<Model> trained() {
  auto model = std::make_unique<Sequential>(std::vector<LayerPtr>{
      layers::dense({.units = 3, .activation = "tanh"}), layers::batch_normalization(), layers::dense({.units = 1})});
  model->compile({.optimizer = optimizers::adam({.learning_rate = 0.02}), .loss = "mse"});
  model->fit(samples::waves({16, 4}), samples::waves({16, 1}), {.epochs = 2, .verbose = 0});
  return model;
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) { return std::ranges::equal(a, b, same_bits); }

}  // namespace

TEST_CASE("models that Keras 3 and Keras 2 saved compute the same, and continue training with the same losses",
          "[saving][keras]") {
  for (const char* part : {"keras3", "keras2", "texts"})
    for (const json& test : models_of(part))
      for (const std::string file : test.at("files")) {
        if (!is_model(file) || test.contains("texts")) continue;
        INFO(file);
        check_model(*load_model(golden_path(file)), test);
      }
}

TEST_CASE("Nadam of Keras before 2.11, which has another schedule, becomes that of Keras 3", "[saving][keras]") {
  const ConsoleText warnings(Console::warnings);
  const ModelPtr model =
      model_from_json(R"({"class_name": "Sequential", "keras_version": "2.10.0", "config": {"layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 3]}},
    {"class_name": "Dense", "config": {"units": 2}}]},
    "training_config": {"loss": "mse", "optimizer_config": {"class_name": "Nadam", "config": {"decay": 0.004, "beta_1": 0.5}}}})");
  CHECK_THAT(to_json(model->optimizer()), ContainsSubstring("Nadam") && ContainsSubstring(R"("beta_1":0.5)"));
  CHECK_THAT(warnings.text(),
             ContainsSubstring("Nadam of Keras before 2.11, whose momentum grows by another schedule"));
}

TEST_CASE("weights that Keras saved are loaded into a model of the same layers", "[saving][keras]") {
  const json versions = golden("keras_files.json");
  for (const char* version : {"keras3", "keras2"})
    for (const json& test : versions.at(version).at("models"))
      for (const std::string file : test.at("files")) {
        INFO(file);
        const auto whole =
            std::ranges::find_if(test.at("files"), [](const std::string& each) { return is_model(each); });
        const ModelPtr model = load_model(golden_path(*whole), {.compile = false});
        for (const Variable& variable : model->weights()) {
          Variable target = variable;
          target.assign(Tensor(variable.shape(), variable.dtype()));
        }
        model->load_weights(golden_path(file));
        check_model(*model, test, false);
      }
}

TEST_CASE("a saved model has the groups and datasets that Keras gives the same model", "[saving][keras]") {
  const auto system = host().files;
  for (const json& test : models_of("keras3")) {
    const std::string file = test.at("files").at(0);
    if (file == "keras/multi.keras") continue;  // Étude has the optimizers in the order of their expressions
    INFO(file);
    const ModelPtr model = load_model(golden_path(file));
    const std::vector<std::byte> original = system->read(golden_path(file));
    const FilesInMemory scope;
    model->save("m.keras");
    CHECK(datasets_of_archive(scope.files->read("m.keras")) == datasets_of_archive(original));
    check_model(*load_model("m.keras"), test, true);
  }
}

TEST_CASE("a model saved to a .keras file continues training with the same bits", "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = trained();
  model->save("m.keras");
  const ModelPtr loaded = load_model("m.keras");
  CHECK(same(loaded->get_weights(), model->get_weights()));
  const Tensor x = samples::waves({16, 4}), y = samples::waves({16, 1});
  for (int step = 0; step < 3; ++step)
    CHECK(loaded->train_on_batch(x, y)["loss"] == model->train_on_batch(x, y)["loss"]);
  CHECK(scope.files->list("") == std::vector<std::string>{"m.keras"});
}

TEST_CASE("optimizers that consist of parts are saved to a .keras file with all of their state", "[saving][keras]") {
  using namespace optimizers;
  const FilesInMemory scope;
  const OptimizerPtr parts =
      multi_optimizer({.default_optimizer = rmsprop({.learning_rate = 0.01}),
                       .optimizer_map = {{".*bias", adam({.amsgrad = true})}, {".*_1/.*", adafactor()}}});
  const auto scaled = [](const OptimizerPtr& optimizer) {
    return loss_scale_optimizer({.inner_optimizer = optimizer});
  };
  for (const OptimizerPtr& optimizer :
       {adafactor(), parts, scaled(rmsprop({.momentum = 0.5})), scaled(adafactor()), scaled(nadam())}) {
    INFO(optimizer->name());
    const double most = optimizer->name() == "nadam" ? 1e-6 : 0;  // its product is computed anew
    Sequential model({layers::dense({.units = 3}), layers::dense({.units = 1, .use_bias = false})});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    const Tensor x = samples::waves({16, 4}), y = samples::waves({16, 1});
    model.fit(x, y, {.epochs = 2, .verbose = 0});
    model.save("m.keras");
    const ModelPtr loaded = load_model("m.keras");
    CHECK(loaded->optimizer().iterations() == 2);
    for (int step = 0; step < 3; ++step)
      CHECK(std::abs(loaded->train_on_batch(x, y)["loss"] - model.train_on_batch(x, y)["loss"]) <= most);
  }
}

TEST_CASE("an optimizer that Keras does not scale is restored where Etude scales the loss", "[saving][keras]") {
  const json states = golden("keras_states.json");
  const json& test = states.at("half_layer");
  const ModelPtr model = load_model(golden_path(test.at("file")));
  REQUIRE(model->optimizer().loss_scale());
  const std::vector<Variable> variables = model->optimizer().keras_variables();
  REQUIRE(variables.size() == test.at("optimizer").size());
  for (std::size_t i = 0; i < variables.size(); ++i)
    CHECK(difference(variables[i].value(), tensor_of_lists(test.at("optimizer")[i]), {0, 0}) == "");
}

TEST_CASE("weights that Keras saved in several files are loaded by their index", "[saving][keras]") {
  const json states = golden("keras_states.json");
  const json& test = states.at("shards");
  Sequential model({layers::dense({.units = 3}), layers::batch_normalization(), layers::dense({.units = 2})});
  model.build({-1, 4});
  model.load_weights(golden_path(test.at("file")));
  check_model(model, {{"files", {"shards"}}, {"inputs", test.at("inputs")}, {"y", test.at("y")}}, false);
  CHECK_THAT(error_of([&] { model.load_weights(golden_path(test.at("file")), {.by_name = true}); }),
             ContainsSubstring("by_name for a file of Keras 3"));
  const FilesInMemory scope;
  scope.files->open("m.weights.json", false)->append(R"({"weight_map": {"/layers/dense/vars": ["a.weights.h5"]}})");
  CHECK(kind_of([&] { model.load_weights("m.weights.json"); }) == ErrorKind::io);
  scope.files->open("m.weights.json", false)->append(R"({"weight_map": {"/layers/other/vars": "a.weights.h5"}})");
  CHECK_THAT(error_of([&] { model.load_weights("m.weights.json"); }), ContainsSubstring("has 0 tensors in the file"));
}

TEST_CASE("a model that is saved twice gives the same bytes", "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = trained();
  model->save("a.keras");
  model->save("b.keras");
  CHECK(scope.files->read("a.keras") == scope.files->read("b.keras"));
}

TEST_CASE("a model that was compiled with a function is saved without its compile options", "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = trained();
  model->compile({.loss = losses::from_function([](Value, Value y_pred) { return y_pred; }, "first")});
  model->save("m.keras");
  const ModelPtr loaded = load_model("m.keras");
  CHECK_FALSE(loaded->compiled());
  CHECK(same(loaded->get_weights(), model->get_weights()));
}

TEST_CASE("weights saved to a .weights.h5 file are loaded with the same bits", "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = trained(), other = trained();
  model->save_weights("m.weights.h5");
  other->load_weights("m.weights.h5");
  CHECK(same(other->get_weights(), model->get_weights()));
  CHECK_THAT(error_of([&] { model->save_weights("m.h5"); }), ContainsSubstring(".weights.h5"));
  Sequential unbuilt({layers::dense({.units = 3})});
  CHECK_THAT(error_of([&] { unbuilt.load_weights("m.weights.h5"); }),
             ContainsSubstring("has not created its variables"));
}

TEST_CASE("save with overwrite = false keeps what has the same name", "[saving][errors]") {
  const FilesInMemory scope;
  const auto model = trained();
  const auto error = [&](const char* path) {
    model->save(path, {.overwrite = false});
    return error_of([&] { model->save(path, {.overwrite = false}); });
  };
  CHECK(error("m.keras") ==
        "[Model.save] \"m.keras\" exists - expected a new name, because overwrite is false - choose another name, or "
        "leave "
        "overwrite out.");
  CHECK_THAT(error("folder"), ContainsSubstring("\"folder\" exists"));
  model->save("folder");
  model->save_weights("w.npz", {.overwrite = false});
  CHECK(kind_of([&] { model->save_weights("w.npz", {.overwrite = false}); }) == ErrorKind::io);
}

TEST_CASE("progress reports how many bytes of the weights were read, up to all", "[saving]") {
  const FilesInMemory scope;
  const auto model = trained();
  std::uint64_t bytes = 0;
  for (const Tensor& weight : model->get_weights()) bytes += weight.bytes();
  std::vector<std::uint64_t> told, wholes;
  const LoadProgress progress = [&](std::uint64_t done, std::uint64_t all) {
    told.push_back(done);
    wholes.push_back(all);
  };
  const auto check_told = [&](std::uint64_t all) {
    CHECK(std::ranges::is_sorted(told));
    CHECK(told.size() > 1);
    CHECK(told.back() == all);
    CHECK(wholes == std::vector(told.size(), all));
    told.clear(), wholes.clear();
  };
  for (const char* path : {"m.keras", "m"}) {
    model->save(path);
    load_model(path, {.progress = progress});
    check_told(bytes);
  }
  for (const char* path : {"m.keras", "w.safetensors"}) {
    if (path[0] == 'w') model->save_weights(path);
    model->load_weights(path, {.progress = progress});
    check_told(2 * bytes);  // each is checked before the first is set
  }
}

TEST_CASE("progress reports how many bytes of the values were written, up to all", "[saving]") {
  const FilesInMemory scope;
  const auto model = trained();
  std::uint64_t weights = 0, optimizer = 0;
  for (const Tensor& weight : model->get_weights()) weights += weight.bytes();
  for (const Variable& variable : model->optimizer().variables()) optimizer += variable.value().bytes();
  for (const std::string path : {"m.keras", "m", "m/model.json", "w.safetensors", "w.npz", "w.weights.h5"}) {
    INFO(path);
    std::vector<std::uint64_t> told;
    const std::uint64_t whole = weights + optimizer, all = path == "m"         ? 2 * whole
                                                           : path == "m.keras" ? whole
                                                                               : weights;
    const SaveProgress progress = [&](std::uint64_t done, std::uint64_t of) {
      CHECK(of == all);
      told.push_back(done);
    };
    path[0] == 'w' ? model->save_weights(path, {.progress = progress}) : model->save(path, {.progress = progress});
    REQUIRE(told.size() >= model->get_weights().size());
    CHECK(std::ranges::is_sorted(told));
    CHECK(told.front() < all);
    CHECK(told.back() == all);
  }
}

TEST_CASE("ModelCheckpoint saves .keras files", "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = trained();
  model->fit(samples::waves({16, 4}), samples::waves({16, 1}),
             {.epochs = 1, .verbose = 0, .callbacks = {callbacks::model_checkpoint({.filepath = "best/m.keras"})}});
  CHECK(same(load_model("best/m.keras")->get_weights(), model->get_weights()));
}

TEST_CASE("weights of other shapes are an Error, and change nothing; skip_mismatch leaves their layers out",
          "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = trained();
  model->save_weights("m.weights.h5");
  Sequential other({layers::dense({.units = 3}), layers::batch_normalization(), layers::dense({.units = 2})});
  other.build({-1, 4});
  const std::vector<Tensor> before = other.get_weights();
  CHECK_THAT(error_of([&] { other.load_weights("m.weights.h5"); }),
             ContainsSubstring("\"layers/dense_1/vars/0\" has shape [3, 1] - expected [3, 2]"));
  CHECK(same(other.get_weights(), before));
  other.load_weights("m.weights.h5", {.skip_mismatch = true});
  CHECK(same_bits(other.get_weights().front(), model->get_weights().front()));
  CHECK(same_bits(other.get_weights().back(), before.back()));
  Sequential fewer({layers::dense({.units = 3})});
  fewer.build({-1, 4});
  CHECK_NOTHROW(fewer.load_weights("m.weights.h5"));  // as Keras: other layers of the file are not asked for
  Sequential more({layers::dense({.units = 3}), layers::dense({.units = 1}), layers::dense({.units = 1})});
  more.build({-1, 4});
  CHECK_THAT(error_of([&] { more.load_weights("m.weights.h5"); }), ContainsSubstring("has 0 tensors in the file"));
}

TEST_CASE("by_name loads the layers of the same names from a file of Keras 2", "[saving][keras]") {
  // Its layers: "first" [4, 3], "norm", "last" [3, 2].
  Sequential model({layers::dense({.units = 3, .name = "other"}), layers::dense({.units = 2, .name = "last"})});
  model.build({-1, 4});
  const std::vector<Tensor> before = model.get_weights();
  const std::string path = golden_path("keras/sequential2_weights.h5");
  CHECK_THAT(error_of([&] { model.load_weights(path); }), ContainsSubstring("3 layers with weights in the file"));
  model.load_weights(path, {.by_name = true});
  CHECK(same_bits(model.get_weights()[0], before[0]));
  const ModelPtr whole = load_model(golden_path("keras/sequential2.h5"));
  CHECK(same_bits(model.get_weights()[2], whole->get_layer("last")->get_weights()[0]));
  CHECK_THAT(error_of([&] { model.load_weights(golden_path("keras/norm.weights.h5"), {.by_name = true}); }),
             ContainsSubstring("by_name for a file of Keras 3"));
}

TEST_CASE("skip_mismatch leaves out single weights of a file of Keras 2, as Keras does", "[saving][keras]") {
  // Its layers: "first" [4, 3], "norm", "last" [3, 2].
  const std::string path = golden_path("keras/sequential2_weights.h5");
  const ModelPtr whole = load_model(golden_path("keras/sequential2.h5"));
  const std::vector<Tensor> stored = whole->get_weights();
  Sequential model({layers::dense({.units = 3, .name = "first"}), layers::batch_normalization({.name = "norm"}),
                    layers::dense({.units = 2, .name = "last"})});
  model.build({-1, 5});
  const Tensor kernel = model.get_weights().front();
  for (const bool by_name : {false, true}) {
    std::vector<Tensor> zeros;
    for (const Tensor& each : model.get_weights()) zeros.emplace_back(each.shape());
    zeros.front() = kernel;
    model.set_weights(zeros);
    model.load_weights(path, {.skip_mismatch = true, .by_name = by_name});
    std::vector<Tensor> expected = stored;
    expected.front() = kernel;
    CHECK(same(model.get_weights(), expected));  // the bias, too
  }
  CHECK_THAT(error_of([&] { model.load_weights(path); }), ContainsSubstring("has shape [4, 3] - expected [5, 3]"));
  Sequential without_bias({layers::dense({.units = 3, .use_bias = false, .name = "first"}),
                           layers::batch_normalization({.name = "norm"}), layers::dense({.units = 2, .name = "last"})});
  without_bias.build({-1, 4});
  const Tensor before = without_bias.get_weights().front();
  CHECK_THAT(error_of([&] { without_bias.load_weights(path, {.skip_mismatch = true}); }),
             ContainsSubstring("layer \"first\" has 2 tensors in the file - expected 1, as many as"));
  without_bias.load_weights(path, {.skip_mismatch = true, .by_name = true});
  CHECK(same_bits(without_bias.get_weights().front(), before));
  CHECK(same_bits(without_bias.get_weights().back(), stored.back()));
}

TEST_CASE("a .keras file with a damaged byte is an Error of data, an unknown format, or the same model",
          "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = trained();
  model->save("m.keras");
  const std::vector<std::byte> bytes = scope.files->read("m.keras");
  const auto all_of = [](Model& of) {
    std::vector<Tensor> values = of.get_weights();
    for (const Variable& variable : of.optimizer().variables()) values.push_back(variable.value());
    return values;
  };
  int refused = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 61) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    INFO("byte " << at);
    try {
      const ModelPtr loaded = load_model(std::move(damaged));
      CHECK(to_json<Layer>(*loaded) == to_json<Layer>(*model));
      CHECK(to_json(loaded->optimizer()) == to_json(model->optimizer()));
      CHECK(same(all_of(*loaded), all_of(*model)));
    } catch (const Error& error) {
      INFO(error.what());
      if (error.kind() != ErrorKind::data)
        CHECK_THAT(error.what(), ContainsSubstring("a format that is not recognized"));
      ++refused;
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("an archive without a model, and weights without a model, are Errors that name them", "[saving][keras]") {
  const FilesInMemory scope;
  const auto archive = create_archive("empty.keras");
  archive->add("config.json", R"({"class_name": "Sequential", "config": {"layers": []}})");
  archive->commit();
  CHECK_THAT(error_of([] { load_model("empty.keras"); }), ContainsSubstring("no shapes of the inputs"));
  const auto other = create_archive("other.keras");
  other->add("notes.txt", "none");
  other->commit();
  CHECK_THAT(error_of([] { load_model("other.keras"); }), ContainsSubstring("an archive without \"config.json\""));
  trained()->save_weights("m.weights.h5");
  CHECK_THAT(error_of([] { load_model("m.weights.h5"); }), ContainsSubstring("weights without a model"));
  CHECK(kind_of([] { load_model("missing.keras"); }) == ErrorKind::io);
}
