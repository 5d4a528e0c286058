#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <span>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "safetensors_samples.hpp"
#include "support.hpp"

// Models that Keras saved, of all families of layers: see keras_models.json in tests/golden/README.md.

using namespace etude;
using namespace etude::testing;
using nlohmann::json;

namespace {

using Tensors = std::vector<Tensor>;

/// Integers only if all are: JavaScript writes 1 for 1.0.
Tensor tensor_from(const json& lists) {
  const Tensor result = tensor_of_lists(lists);
  const std::vector<double> all = numbers_in(lists);
  const bool whole = std::ranges::all_of(all, [](double number) { return number == std::trunc(number); });
  return result.dtype() == DType::int32 && !whole ? tensor_of(result.shape(), floatx(), all) : result;
}

/// The hash of the weights' bits in make_keras_models.py.
std::uint32_t bits_of(const Tensors& weights) {
  std::uint32_t hash = 2166136261;
  for (const Tensor& weight : weights)
    for (const std::byte byte : std::span(static_cast<const std::byte*>(weight.raw()), weight.bytes()))
      hash = (hash ^ std::to_integer<std::uint32_t>(byte)) * 16777619;
  return hash;
}

/// A case of keras_models.json, with the inputs and targets of the case of that name in whole_models.json unless it has
/// its own.
struct Case {
  Case(const json& given, const json& wholes) : test(given) {
    const json* data = &test;
    for (const json& whole : wholes)
      if (whole.at("name") == test.at("name")) data = &whole;
    for (const json& each : data->at("x")) x.push_back(tensor_from(each));
    for (const json& each : data->at("y")) y.push_back(tensor_from(each));
    if (data->contains("sample_weight")) weight = {tensor_of_lists(data->at("sample_weight"))};
  }

  std::string name() const { return test.at("name"); }

  /// The rows of a step.
  Batch batch(std::int64_t step, std::int64_t size) const {
    const std::int64_t begin = step * size % x[0].shape()[0];
    const auto rows = [&](const Tensors& all) {
      Tensors result;
      for (const Tensor& each : all) result.push_back(each.rows(begin, begin + size));
      return result;
    };
    return {rows(x), rows(y), rows(weight)};
  }

  json test;
  Tensors x, y, weight;
};

/// The largest difference between the numbers of a tensor and those of a list, relative to the largest of the list plus
/// 0.01.
double difference_from(const Tensor& found, const json& list) {
  double largest = 0.01, most = 0;
  REQUIRE(static_cast<std::size_t>(found.size()) == list.size());
  for (const json& number : list) largest = std::max(largest, std::abs(number.get<double>()));
  for (std::size_t i = 0; i < list.size(); ++i)
    most = std::max(most, std::abs(found.at(static_cast<std::int64_t>(i)) - list[i].get<double>()));
  return most / largest;
}

}  // namespace

TEST_CASE("models that Keras and TensorFlow.js saved compute the same, and continue with Keras's losses of 20 steps",
          "[saving][keras]") {
  const json wholes = golden("whole_models.json").at("cases");
  for (const char* const list : {"keras_models.json", "keras2_models.json", "tfjs_models.json"}) {
    const json models = golden(list);
    for (const json& each : models.at("models")) {
      const Case given(each, wholes);
      INFO(list << ' ' << given.test.at("name"));
      const double allowed = given.name().starts_with("mixed") ? 0.01 : 1e-5;
      const ModelPtr model = load_model(golden_path(given.test.at("file").get<std::string>()));
      if (given.test.contains("weights")) CHECK(bits_of(model->get_weights()) == given.test.at("weights"));
      const Tensors outputs = model->call_all(given.x);
      REQUIRE(outputs.size() == given.test.at("outputs").size());
      for (std::size_t i = 0; i < outputs.size(); ++i)
        CHECK(difference_from(outputs[i], given.test.at("outputs")[i]) < allowed);
      if (!given.test.contains("losses")) continue;
      const std::int64_t batch = models.at("batch_size");
      std::int64_t step = models.at("steps_before");
      for (const json& loss : given.test.at("losses")) {
        const double expected = loss, found = model->train_on_batch(given.batch(step++, batch))["loss"];
        CHECK(std::abs(found - expected) < 10 * allowed * std::max(1.0, std::abs(expected)));
      }
    }
  }
}

TEST_CASE(
    "hard_sigmoid of Keras 2 and TensorFlow.js has another slope than that of Keras 3, also once it is saved again",
    "[saving][keras]") {
  const FilesInMemory scope;
  const auto model = [](const std::string& version) {
    return R"({"class_name": "Sequential", "keras_version": ")" + version + R"(", "config": {"layers": [)" +
           R"({"class_name": "InputLayer", "config": {"batch_shape": [null, 3]}}, )" +
           R"({"class_name": "Activation", "config": {"activation": "hard_sigmoid"}}]}})";
  };
  const Tensor x = tensor_of({1, 3}, DType::float32, std::vector<double>{0, 1.5, 2.75});
  const auto of = [&](const ModelPtr& loaded) { return numbers(loaded->call_all({x}).front()); };
  CHECK(of(model_from_json(model("3.15.1")))[1] == 0.75);  // x / 6 + 0.5
  for (const char* version : {"2.2.4", "tfjs-layers 4.22.0"}) {
    const ModelPtr loaded = model_from_json(model(version));
    const std::vector<double> expected = of(loaded);
    CHECK(std::abs(expected[1] - 0.8) < 1e-6);  // 0.2 x + 0.5
    CHECK(expected[2] == 1);
    const std::string text = to_json<Layer>(*loaded);
    // keras.activations.serialize in Keras 3.15.1 writes this of a function that is registered under the name.
    CHECK(text.find(R"("activation":{"module":"builtins","class_name":"function",)"
                    R"("config":"keras2>hard_sigmoid","registered_name":"function"})") != text.npos);
    CHECK(of(model_from_json(text)) == expected);
    for (const char* path : {"folder", "m.keras", "m/model.json"}) {
      loaded->save(path);
      CHECK(of(load_model(path)) == expected);
    }
    CHECK(text_in(*scope.files, "m/model.json").find(R"("activation":"hard_sigmoid")") != std::string::npos);
  }
}
