#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <map>

#include "console_text.hpp"
#include "etude/base/detail/archive.hpp"
#include "etude/etude.hpp"
#include "etude/saving/detail/keras_store.hpp"
#include "etude/saving/hdf5/detail/hdf5_writer.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "training_samples.hpp"

// Less common models in the files of Keras, TensorFlow.js and Étude. The rest is in keras_files_test.cpp.

using namespace etude;
using namespace etude::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The datasets in the weights of a .keras file.
std::vector<std::string> datasets_in(const FilesInMemory& scope, const std::string& path) {
  const std::vector<std::byte> bytes = scope.files->read(path);
  const auto archive = open_archive(bytes, path);
  const std::vector<std::byte> weights = archive->read_all(*archive->find("model.weights.h5"));
  return hdf5::Reader(std::make_shared<MemorySource>(weights), path).datasets();
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::ranges::find(all, one) != all.end();
}

/// A layer in a model, and in a model within it.
std::shared_ptr<Functional> with_shared_layer() {
  const LayerPtr shared = layers::dense({.units = 4, .name = "shared"});
  const SymbolicTensor a = layers::input({.shape = {4}}), x = layers::input({.shape = {4}});
  const auto inner = std::make_shared<Functional>(SymbolicTensors{a}, SymbolicTensors{shared->apply(a)});
  return std::make_shared<Functional>(SymbolicTensors{x},
                                      SymbolicTensors{layers::add()->apply({inner->apply(x), shared->apply(x)})});
}

}  // namespace

TEST_CASE("a layer of a model and of a model within it is one layer again after loading", "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = with_shared_layer();
  REQUIRE(model->count_params() == 20);
  const Tensor x = samples::waves({3, 4}), y = model->call_all({x}).front();
  const auto check = [&](Model& loaded) {
    CHECK(loaded.count_params() == 20);
    loaded.set_weights(model->get_weights());
    CHECK(same_bits(loaded.call_all({x}).front(), y));
  };
  for (const char* path : {"folder", "m.keras"}) {
    INFO(path);
    model->save(path);
    const ModelPtr loaded = load_model(path);
    CHECK(same_bits(loaded->call_all({x}).front(), y));
    check(*loaded);
  }
  check(*model_from_json(to_json<Layer>(*model)));
  check(*clone_model(*model));
  CHECK(to_json<Layer>(*with_shared_layer()->layers().back()).find("shared_object_id") == std::string::npos);
}

TEST_CASE("Normalization has a counter in a file if data has set its state, and none if its options have",
          "[saving][keras]") {
  const FilesInMemory scope;
  Sequential model({layers::input_layer({.shape = {2}}), layers::normalization({.mean = {1, 2}, .variance = {3, 4}}),
                    layers::normalization()});
  model.save("m.keras");
  CHECK(datasets_in(scope, "m.keras") == std::vector<std::string>{"layers/normalization_1/vars/0",
                                                                  "layers/normalization_1/vars/1",
                                                                  "layers/normalization_1/vars/2"});
  CHECK(load_model("m.keras")->count_params() == model.count_params());
}

TEST_CASE("the weights of IntegerLookup's vocabulary are a dataset, as in Keras", "[saving][keras]") {
  const std::vector<std::byte> original = read_file(golden_path("keras/inverse.keras"));
  const FilesInMemory scope;
  const ModelPtr model = load_model(original);
  model->save("m.keras");
  CHECK(contains(datasets_in(scope, "m.keras"), "layers/integer_lookup/vars/idf_weights"));
  const Tensor x = Tensor::from<std::int32_t>({1, 3}, {7, 3, 99});
  CHECK(same_bits(load_model("m.keras")->call_all({x}).front(), model->call_all({x}).front()));
}

TEST_CASE("MultiHeadAttention is read from files of Keras 2.13 to 2.15, where its parts have other names",
          "[saving][keras]") {
  const FilesInMemory scope;
  const auto attention = [] {
    const SymbolicTensor x = layers::input({.shape = {4, 6}});
    const LayerPtr layer = layers::multi_head_attention({.num_heads = 2, .key_dim = 3});
    return std::make_shared<Functional>(SymbolicTensors{x}, SymbolicTensors{layer->apply({x, x})});
  };
  const auto model = attention(), other = attention();
  std::vector<KerasWeights> groups = keras_weights(*model);
  for (KerasWeights& group : groups)
    for (const std::string part : {"query", "key", "value", "output"})
      if (const std::size_t at = group.path.find('/' + part + "_dense/"); at != std::string::npos)
        group.path.insert(at + 1, "_");
  std::string file;
  WriteCount count({});
  write_keras_groups(groups, [](std::uint64_t) {}, [&](std::string_view bytes) { file += bytes; }, count);
  CHECK(file.find("_query_dense") != std::string::npos);
  scope.files->replace("m.weights.h5", {file});
  other->load_weights("m.weights.h5");
  CHECK(std::ranges::equal(model->get_weights(), other->get_weights(), same_bits));
}

TEST_CASE("a list of more layers than a file may have is refused", "[saving][keras][errors]") {
  const FilesInMemory scope;
  hdf5::Writer writer;
  constexpr int lists = 26, names = 3900;
  for (int i = 0; i < lists; ++i)
    writer.texts("", "layer_names" + std::to_string(i), std::vector<std::string>(names, "a"));
  std::string file;
  writer.start([&](std::string_view bytes) { file += bytes; });
  writer.finish();
  scope.files->replace("m.h5", {file});
  Sequential model({layers::dense({.units = 1})});
  model.build({-1, 2});
  CHECK_THAT(samples::error_of([&] { model.load_weights("m.h5"); }),
             ContainsSubstring("lists of more than 100000 layers"));
}

TEST_CASE("options that JSON cannot have, and models nested too deep, are errors before there is a file",
          "[saving][errors]") {
  const FilesInMemory scope;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Sequential model({layers::input_layer({.shape = {2}}), layers::discretization({.bin_boundaries = {-infinity, 0}})});
  for (const char* path : {"folder", "m.keras"})
    CHECK_THAT(samples::error_of([&] { model.save(path); }),
               ContainsSubstring("bin_boundaries = null - expected a finite number"));
  auto nested = std::make_shared<Sequential>(std::vector<LayerPtr>{layers::dense({.units = 1})});
  for (int i = 0; i < 30; ++i) nested = std::make_shared<Sequential>(std::vector<LayerPtr>{nested});
  nested->build({-1, 2});
  CHECK_THAT(samples::error_of([&] { nested->save("m.keras"); }), ContainsSubstring("64"));
  CHECK(scope.files->list("").empty());
}

TEST_CASE("TensorFlow.js: what it computes otherwise is an error, or a warning", "[saving][errors]") {
  const FilesInMemory scope;
  const auto error = [](const LayerPtr& layer, Shape shape) {
    Sequential model({layers::input_layer({.shape = std::move(shape)}), layer});
    return samples::error_of([&] { model.save("m/model.json"); });
  };
  const Shape row{4, 4}, image{4, 4, 2};
  CHECK_THAT(error(layers::up_sampling2d({.interpolation = "bilinear"}), image),
             ContainsSubstring("\"interpolation\": bilinear"));
  CHECK(error(layers::up_sampling2d(), image) == "");
  CHECK_THAT(error(layers::max_pooling1d({.data_format = "channels_first"}), row),
             ContainsSubstring("\"data_format\": channels_first"));
  CHECK_THAT(error(layers::global_average_pooling1d({.data_format = "channels_first"}), row),
             ContainsSubstring("\"data_format\": channels_first"));
  CHECK_THAT(error(layers::elu({.alpha = 0.5}), row), ContainsSubstring("\"alpha\": 0.5"));
  CHECK(error(layers::elu(), row) == "");
  CHECK_THAT(error(layers::softmax({.axis = 1}), row), ContainsSubstring("\"axis\": 1"));
  CHECK(error(layers::softmax({.axis = 2}), row) == "");
  CHECK_THAT(error(layers::batch_normalization({.axis = 1}), row), ContainsSubstring("\"axis\": 1"));
  CHECK(error(layers::batch_normalization({.axis = 2}), row) == "");
  CHECK(error(layers::time_distributed({.layer = layers::softmax({.axis = 1})}), row) == "");
  Sequential without_input({layers::dense({.units = 3}), layers::batch_normalization({.axis = 1}),
                            layers::softmax({.axis = 1}), layers::reshape({.target_shape = {-1, 1}})});
  without_input.build({-1, 4});
  without_input.save("m/model.json");
  const std::vector<std::byte> bytes = scope.files->read("m/model.json");
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK_THAT(text, ContainsSubstring("\"target_shape\":[3,1]"));  // there the extent of -1 would stay unknown
  CHECK_THAT(error(layers::conv1d({.filters = 2, .kernel_size = 2, .padding = "causal"}), row),
             ContainsSubstring("\"padding\": causal"));
  CHECK_THAT(error(layers::conv1d({.filters = 2, .kernel_size = 2, .data_format = "channels_first"}), row),
             ContainsSubstring("\"data_format\": channels_first"));
  CHECK_THAT(error(layers::max_pooling3d({.pool_size = 1, .strides = 2, .padding = "same"}), {4, 4, 4, 1}),
             ContainsSubstring("\"padding\": \"same\" and \"strides\": 2"));
  CHECK(error(layers::max_pooling3d({.pool_size = 2, .padding = "same"}), {4, 4, 4, 1}) == "");
  CHECK_THAT(error(layers::dense({.units = 2, .activity_regularizer = "l2"}), row),
             ContainsSubstring("\"activity_regularizer\": "));
  CHECK_THAT(error(layers::dense({.units = 2, .name = "größe"}), row),
             ContainsSubstring("the weight \"größe/kernel\" - expected letters of ASCII"));
  const SymbolicTensor x = layers::input({.shape = {4, 4}});
  Functional joined({x}, {apply_all(layers::concatenate({.axis = -2}), {x, x}).front()});
  CHECK_THAT(samples::error_of([&] { joined.save("m/model.json"); }), ContainsSubstring("\"axis\": -2"));
  for (const LayerPtr& layer : {layers::global_average_pooling1d(), layers::permute({.dims = {2, 1}})}) {
    const ConsoleText warnings(Console::warnings);
    Sequential masked({layers::input_layer({.shape = {4}}),
                       layers::embedding({.input_dim = 5, .output_dim = 2, .mask_zero = true}), layer});
    masked.save("m/model.json");
    const std::string name(layer->class_name());
    CHECK_THAT(warnings.text(), ContainsSubstring("TensorFlow.js treats masks otherwise in " + name));
  }
}

TEST_CASE("RNNs that TensorFlow.js starts otherwise are a warning when the model is saved for it", "[saving]") {
  const FilesInMemory scope;
  const auto warning = [](Model& model) {
    const ConsoleText warnings(Console::warnings);
    model.save("m/model.json");
    return warnings.text();
  };
  // RNNs on initial states, one after another, or in both directions.
  const auto decoder = [](int rnns, bool masks, bool both_directions = false) {
    const SymbolicTensor words = layers::input({.shape = {4}, .dtype = "int32"}), state = layers::input({.shape = {2}});
    SymbolicTensor x = layers::embedding({.input_dim = 5, .output_dim = 3, .mask_zero = masks})->apply(words);
    for (int i = 1; i <= rnns; ++i) {
      const LayerPtr rnn = layers::lstm({.units = 2, .return_sequences = true, .name = "decoder_" + std::to_string(i)});
      x = both_directions ? layers::bidirectional(rnn)->apply({x, state, state, state, state})
                          : rnn->apply({x, state, state});
    }
    return std::make_shared<Functional>(SymbolicTensors{words, state}, SymbolicTensors{x});
  };
  const auto named = [](const std::string& name) {
    return "Warning: [Model.save] \"m/model.json\": TensorFlow.js treats masks otherwise in \"" + name +
           "\" and in the layers after it: compare its results.\n";
  };
  CHECK(warning(*decoder(2, false)).empty());
  CHECK(warning(*decoder(1, true)).empty());
  CHECK(warning(*decoder(1, true, true)).empty());
  CHECK(warning(*decoder(2, true)) == named("decoder_2"));
  // As Keras 3 writes a decoder that ignores the mask.
  nlohmann::json text = nlohmann::json::parse(to_json<Layer>(*decoder(1, true)));
  for (nlohmann::json& layer : text["config"]["layers"])
    if (layer["name"] == "decoder_1") {
      layer["inbound_nodes"][0].erase("etude");
      layer["inbound_nodes"][0]["kwargs"].erase("mask");
    }
  CHECK(warning(*model_from_json(text.dump())) == named("decoder_1"));
}
