#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "allocation_counter.hpp"
#include "etude/etude.hpp"
#include "etude/saving/checkpoint_store.hpp"
#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Models, names and files that are refused.
using namespace etude;
using samples::waves;
using testing::error_of;
using testing::FilesInMemory;
using testing::kind_of;

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
    CHECK(std::ranges::equal(other->get_weights(), before, testing::same_bits));
  }
}

TEST_CASE("models and files that cannot be saved or loaded are Errors with the reason", "[saving]") {
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
  own.predict(waves({4, 6}), {.verbose = 0});
  CHECK(error_of([&] { own.save("model"); }).find("save its weights instead") != std::string::npos);
}

namespace {

/// Saves the model of a folder to another, with another number in its config.
void change_config(const std::string& from, const std::string& to, const std::string& place, std::int64_t number) {
  Checkpoint checkpoint = *load_newest_checkpoint(from);
  nlohmann::json config = nlohmann::json::parse(checkpoint.document("config"));
  config.at(nlohmann::json::json_pointer("/model/config" + place)) = number;
  checkpoint.documents = {{"config", config.dump()}};
  CheckpointStore(to).save(checkpoint);
}

}  // namespace

TEST_CASE("a config with more weights than the file is refused before memory is allocated", "[saving]") {
  const FilesInMemory scope;
  constexpr std::size_t large = 1 << 20;
  Sequential dense({layers::dense({.units = 1})});
  dense.build({-1, 3});
  dense.save("dense");
  const SymbolicTensor in = layers::input({.shape = {5, 3}});
  Functional recurrent({in}, {layers::gru({.units = 2})->apply(in)});
  recurrent.save("recurrent");
  change_config("dense", "units", "/layers/0/config/units", 250'000'000);
  change_config("dense", "inputs", "/build_input_shape/1", 250'000'000);
  change_config("recurrent", "steps", "/layers/0/config/batch_shape/1", 250'000'000);
  change_config("recurrent", "orthogonal", "/layers/1/config/units", 100'000);
  for (const auto& [folder, words] :
       {std::pair("units", "[3, 250000000]"), {"inputs", "[250000000, 1]"}, {"orthogonal", "[3, 300000]"}}) {
    const FailingAllocation refused(1, large);
    CHECK(error_of([&] { load_model(folder); }).find(words) != std::string::npos);
    CHECK_FALSE(refused.reached());
  }
  const FailingAllocation refused(1, large);
  CHECK(load_model("steps")->count_params() == recurrent.count_params());  // steps are not weights
  CHECK_FALSE(refused.reached());
}

TEST_CASE("sizes beyond memory are an Error that names the layer and the weight", "[saving]") {
  const auto text_of = [](const std::string& units) {
    return R"({"class_name": "Sequential", "config": {"build_input_shape": [null, 3], "layers": [)"
           R"({"class_name": "Dense", "config": {"name": "d", "units": )" +
           units + "}}]}}";
  };
  for (const char* units : {"1000000000000000", "4611686018427387904"}) {
    const auto action = [&] { model_from_json(text_of(units)); };
    CHECK(kind_of(action) == ErrorKind::state);
    CHECK(error_of(action).starts_with("[Dense \"d\"] no memory for \"kernel\" of shape [3, "));
  }
}

TEST_CASE("a file without states gives a model whose states are 0, unless they need much more memory", "[saving]") {
  const FilesInMemory scope;
  const auto saved = [](std::int64_t batch) {
    Sequential model({layers::lstm({.units = 3, .stateful = true})});
    model.build({batch, 5, 4});
    const Tensor samples = waves({batch, 5, 4});
    const Tensor expected = model.predict_on_batch(samples);
    model.save("m.keras");
    return std::pair(samples, expected);
  };
  const auto [samples, expected] = saved(2);
  CHECK(testing::same_bits(load_model("m.keras")->predict_on_batch(samples), expected));
  saved(50'000);
  CHECK(error_of([] { load_model("m.keras"); }).starts_with("[load_model] states of 1200000 bytes between the"));
}

TEST_CASE("names of other formats and places are an Error, and no folder is made", "[saving]") {
  const FilesInMemory scope;
  Sequential model(samples::two_dense());
  model.build({-1, 6});
  for (const std::string name : {"model.onnx", "a/b.H5", "model.hdf5", "m.safetensors", "localstorage://model",
                                 "indexeddb://m", "https://example.org/m", "file://model"}) {
    CAPTURE(name);
    CHECK(kind_of([&] { model.save(name); }) == ErrorKind::value);
    const bool is_read = name == "a/b.H5" || name == "model.hdf5";
    CHECK(kind_of([&] { load_model(name); }) == (is_read ? ErrorKind::io : ErrorKind::value));
    CHECK(kind_of([&] { callbacks::model_checkpoint({.filepath = name}); }) == ErrorKind::value);
  }
  CHECK(error_of([&] { model.save("model.onnx"); }) ==
        "[Model.save] \"model.onnx\" - expected the name of a folder, or one that ends with .keras or .json - remove "
        ".onnx, or save only the weights by save_weights().");
  for (const char* name : {"localstorage://weights.safetensors", "weights.h5", "weights.keras"})
    CHECK(kind_of([&] { model.save_weights(name); }) == ErrorKind::value);
  CHECK(scope.files->list("").empty());
  model.save("model.v2");
  CHECK(load_model("model.v2")->count_params() == model.count_params());
}

TEST_CASE("callbacks refuse names of other places in their constructor, unless they have their own place", "[saving]") {
  for (const std::string place : {"localstorage://run", "indexeddb://run", "https://example.org/run"}) {
    CAPTURE(place);
    CHECK(kind_of([&] { callbacks::backup_and_restore({.backup_dir = place}); }) == ErrorKind::value);
    CHECK(kind_of([&] { callbacks::csv_logger({.filename = place}); }) == ErrorKind::value);
    CHECK(kind_of([&] { callbacks::tensorboard({.log_dir = place}); }) == ErrorKind::value);
    CHECK(kind_of([&] {
            callbacks::model_checkpoint({.filepath = place + ".safetensors", .save_weights_only = true});
          }) == ErrorKind::value);
  }
  CHECK(error_of([] { callbacks::csv_logger({.filename = "localstorage://log"}); }) ==
        "[CSVLogger] \"localstorage://log\" - expected the path of a file or folder - remove the scheme "
        "before the path.");
  const auto files = std::make_shared<MemoryVfs>();
  const OpenFile open = [files](const std::string& path, bool append) { return files->open(path, append); };
  callbacks::backup_and_restore({.backup_dir = "own://run", .files = files});
  callbacks::csv_logger({.filename = "own://log", .open = open});
  callbacks::tensorboard({.log_dir = "own://logs", .open = open});
}
