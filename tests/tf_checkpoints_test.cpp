#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <span>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "fuzz/tf_checkpoints.hpp"
#include "golden.hpp"
#include "support.hpp"

// Checkpoints of TensorFlow: those in tests/golden/tf are of tf-keras 2.15.1 on TensorFlow 2.15.1, and of
// Keras 3 on TensorFlow 2.21.0: see tests/golden/make_tf_checkpoints.py.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;

}  // namespace

TEST_CASE("models with the weights of TensorFlow's checkpoints compute what tf.keras and Keras 3 compute",
          "[saving][keras]") {
  const nlohmann::json versions = golden("tf_checkpoints.json");
  for (const nlohmann::json& version : versions)
    for (const nlohmann::json& test : version.at("models")) {
      const std::string path = golden_path(test.at("path").get<std::string>());
      INFO(path);
      const ModelPtr model = model_from_json(test.at("config").dump());
      std::vector<Tensor> inputs;
      for (const nlohmann::json& each : test.at("inputs")) inputs.push_back(tensor_of_lists(each));
      model->load_weights(path);
      CHECK(difference(model->call_all(inputs).front(), tensor_of_lists(test.at("y")), {1e-5, 1e-5}) == "");
    }
}

TEST_CASE("a compiled model continues training from a checkpoint of TensorFlow with Keras's losses",
          "[saving][keras]") {
  const nlohmann::json versions = golden("tf_checkpoints.json");
  for (const nlohmann::json& version : versions)
    for (const nlohmann::json& test : version.at("trained")) {
      const std::string path = golden_path(test.at("path").get<std::string>());
      INFO(path);
      const ModelPtr model = model_from_json(test.at("config").dump());
      model->compile({.optimizer = from_json<Optimizer>(test.at("optimizer").dump()), .loss = "mse"});
      model->load_weights(path);
      CHECK(model->optimizer().iterations() == 3);
      for (const double loss : test.at("losses")) {
        Logs logs = model->train_on_batch(tensor_of_lists(test.at("x")), tensor_of_lists(test.at("y")));
        CHECK(std::abs(logs["loss"] - loss) < 1e-4);
      }
    }
}

TEST_CASE("a checkpoint of TensorFlow with the state of another optimizer sets only the weights", "[saving][keras]") {
  const nlohmann::json versions = golden("tf_checkpoints.json");
  const nlohmann::json& test = versions.at("keras2").at("trained").at(0);  // SGD with momentum
  const ModelPtr model = model_from_json(test.at("config").dump()), plain = model_from_json(test.at("config").dump());
  model->compile({.optimizer = optimizers::adam({.learning_rate = 0.25}), .loss = "mse"});
  for (const ModelPtr& each : {model, plain}) each->load_weights(golden_path("tf/sgd_slots"));
  CHECK(model->optimizer().iterations() == 0);
  CHECK(model->optimizer().learning_rate() == 0.25);
  CHECK(std::ranges::equal(model->get_weights(), plain->get_weights(), same_bits));
}

TEST_CASE("a checkpoint of TensorFlow for other layers is an error that names both, and changes nothing",
          "[saving][errors]") {
  const std::string path = golden_path("tf/dense");  // 4 inputs, Dense 3, BatchNormalization, Dropout, Dense 2
  const auto built = [](const std::vector<LayerPtr>& layers) {
    auto model = std::make_unique<Sequential>(layers);
    model->build({-1, 4});
    return model;
  };
  const auto wider = built({layers::dense({.units = 3}), layers::batch_normalization(), layers::dense({.units = 5})});
  const std::vector<Tensor> before = wider->get_weights();
  CHECK_THAT(error_of([&] { wider->load_weights(path); }),
             ContainsSubstring("\"model/layer_with_weights-2/kernel\" has shape [3, 2] in the checkpoint - expected "
                               "[3, 5], that of \"dense"));
  CHECK(std::ranges::equal(wider->get_weights(), before, same_bits));
  const auto same = built({layers::dense({.units = 3}), layers::batch_normalization(), layers::dense({.units = 2})});
  same->load_weights(path);
  std::vector<Tensor> expected = same->get_weights();
  std::ranges::copy(std::span(before).last(2), expected.end() - 2);  // of the last layer
  wider->load_weights(path, {.skip_mismatch = true});
  CHECK(std::ranges::equal(wider->get_weights(), expected, same_bits));
  const auto other = built({layers::dense({.units = 3}), layers::dense({.units = 3}), layers::dense({.units = 2})});
  CHECK_THAT(error_of([&] { other->load_weights(path); }),
             ContainsSubstring("variables gamma, beta, moving_mean, moving_variance at \"layer_with_weights-1\" in the "
                               "checkpoint - expected kernel, bias, those of the layer \""));
  const auto fewer = built({layers::dense({.units = 3}), layers::dense({.units = 2})});
  CHECK_THAT(error_of([&] { fewer->load_weights(path); }),
             ContainsSubstring("3 layers with weights in the checkpoint - expected 2, as many as \"sequential"));
  CHECK_THAT(error_of([&] { other->load_weights(path, {.map = {{"a", "b"}}}); }),
             ContainsSubstring("map or transpose"));
  CHECK_THAT(error_of([&] { other->load_weights(golden_path("tf")); }), ContainsSubstring("a folder - expected"));
}

TEST_CASE("a checkpoint of TensorFlow with a changed or missing byte is an error, or gives the same weights",
          "[saving][errors]") {
  Sequential model({layers::dense({.units = 1, .use_bias = false})});
  model.build({-1, 2});
  const Tensor kernel = Tensor::from<float>({2, 1}, {3, 4});
  const FilesInMemory scope;
  const auto load = [&](const PackedFiles& files) {
    host().files = folder_of(files, "c");
    model.set_weights({Tensor({2, 1})});
    const std::string error = error_of([&] { model.load_weights("c/ckpt"); });
    if (error == "no error") CHECK(same_bits(model.get_weights().front(), kernel));
    return error;
  };
  const PackedFiles files = TfSample().files();
  REQUIRE(load(files) == "no error");
  int refused = 0, loads = 0;
  for (std::size_t file = 0; file < files.size(); ++file)
    for (std::size_t at = 0; at < files[file].second.size(); ++at) {
      PackedFiles changed = files, cut = files;
      changed[file].second[at] ^= 0x10;
      cut[file].second.resize(at);
      CHECK(load(cut) != "no error");
      refused += load(changed) != "no error";
      ++loads;
    }
  CHECK(refused > loads * 9 / 10);  // the block of metadata, and what fills the footer, say nothing
}

TEST_CASE("false sizes in a checkpoint of TensorFlow are refused before memory is allocated", "[saving][errors]") {
  Sequential model({layers::dense({.units = 1, .use_bias = false})});
  model.build({-1, 2});
  const FilesInMemory scope;
  const auto error = [&](const auto& change) {
    TfSample sample;
    change(sample);
    host().files = folder_of(sample.files(), "c");
    return error_of([&] { model.load_weights("c/ckpt"); });
  };
  const std::string_view bytes("\0\0\x40\x40\0\0\x80\x40", 8);
  const auto with_kernel = [&](const std::string& entry) {
    return error([&](TfSample& sample) { sample.kernel = entry; });
  };
  CHECK(with_kernel(entry_of(1, {2, 1}, 0, bytes)) == "no error");
  CHECK_THAT(with_kernel(entry_of(1, {2, 1}, 0, bytes, field(7, field(1, 0)))), ContainsSubstring("in several pieces"));
  CHECK_THAT(with_kernel(entry_of(1, {2, 1}, 0, bytes, field(3, 1))), ContainsSubstring("in a missing file"));
  CHECK_THAT(with_kernel(entry_of(1, {2, 1}, std::uint64_t{1} << 63, bytes)), ContainsSubstring("expected it within"));
  CHECK_THAT(with_kernel(entry_of(1, {2, 1}, 0, bytes, field(5, UINT64_MAX))), ContainsSubstring("expected it within"));
  CHECK_THAT(with_kernel(entry_of(2, {2, 1}, 0, bytes)), ContainsSubstring("in 8 bytes - expected as many as"));
  CHECK_THAT(with_kernel(entry_of(1, {2, 1}, 0, bytes.substr(4))), ContainsSubstring("in 4 bytes - expected as many"));
  CHECK_THAT(with_kernel(entry_of(23, {2, 1}, 0, bytes)), ContainsSubstring("of TensorFlow's type 23"));
  CHECK_THAT(with_kernel(entry_of(1, {1ull << 62, 1ull << 62}, 0, bytes)), ContainsSubstring("has shape"));
  CHECK_THAT(with_kernel(entry_of(1, {UINT64_MAX, 1}, 0, bytes)), ContainsSubstring("an invalid shape"));
  CHECK_THAT(with_kernel(entry_of(1, std::vector<std::uint64_t>(9, 1), 0, bytes)), ContainsSubstring("at most 8"));
  CHECK_THAT(with_kernel("\xFF"), ContainsSubstring("a damaged message"));
  CHECK_THAT(error([](TfSample& sample) { sample.compression = 1; }), ContainsSubstring("a compressed block"));
  CHECK_THAT(error([](TfSample& sample) { sample.header += field(2, 1); }), ContainsSubstring("in big-endian order"));
  CHECK_THAT(error([](TfSample& sample) { sample.header = field(1, 1ull << 40); }),
             ContainsSubstring("an index without"));
  CHECK_THAT(error([&](TfSample& sample) { sample.more = {{"layer_with_weights-0/kernel", sample.kernel}}; }),
             ContainsSubstring("entries of ascending names"));
  CHECK_THAT(error([&](TfSample& sample) { sample.more = {{std::string(5000, 'z'), ""}}; }),
             ContainsSubstring("names up to 4096 bytes"));
  CHECK_THAT(error([](TfSample& sample) { sample.objects[0] = object_of({{"layer_with_weights-0", 7}}); }),
             ContainsSubstring("an object 7 among 3"));
  CHECK_THAT(error([](TfSample& sample) { sample.objects[2] = variable_of("other"); }),
             ContainsSubstring("no value of \"other\""));
  CHECK_THAT(error([](TfSample& sample) { sample.objects[0] += field(3, field(1, 2) + field(2, "m") + field(3, 9)); }),
             ContainsSubstring("an object 9 among 3"));
  // Objects may refer to each other in circles.
  CHECK(error([](TfSample& sample) { sample.objects[1] += object_of({{"root", 0}, {"self", 1}}); }) == "no error");
}

}  // namespace etude
