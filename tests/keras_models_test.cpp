#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/etude.hpp"
#include "golden.hpp"
#include "support.hpp"

// Models that Keras saved, of all families of layers: see keras_models.json in tests/golden/README.md.

using namespace etude;
using namespace etude::testing;
using nlohmann::json;

namespace {

using Tensors = std::vector<Tensor>;

/// A case of keras_models.json, with the inputs and targets of the case of that name in whole_models.json unless it has its
/// own.
struct Case {
  Case(const json& given, const json& wholes) : test(given) {
    const json* data = &test;
    for (const json& whole : wholes)
      if (whole.at("name") == test.at("name")) data = &whole;
    for (const json& each : data->at("x")) x.push_back(tensor_of_lists(each));
    for (const json& each : data->at("y")) y.push_back(tensor_of_lists(each));
    if (data->contains("sample_weight")) weight = {tensor_of_lists(data->at("sample_weight"))};
  }

  static Tensors rows(const Tensors& all, std::int64_t begin, std::int64_t count) {
    Tensors result;
    for (const Tensor& each : all) result.push_back(each.rows(begin, begin + count));
    return result;
  }

  json test;
  Tensors x, y, weight;
};

/// The largest difference between the numbers of a tensor and those of a list, relative to the largest of the list plus 0.01.
double difference_from(const Tensor& found, const json& list) {
  double largest = 0.01, most = 0;
  REQUIRE(static_cast<std::size_t>(found.size()) == list.size());
  for (const json& number : list) largest = std::max(largest, std::abs(number.get<double>()));
  for (std::size_t i = 0; i < list.size(); ++i)
    most = std::max(most, std::abs(found.at(static_cast<std::int64_t>(i)) - list[i].get<double>()));
  return most / largest;
}

}  // namespace

TEST_CASE("models that Keras saved in training compute the same, and continue with its losses of 20 steps",
          "[saving][keras]") {
  const json wholes = golden("whole_models.json").at("cases"), golden_models = golden("keras_models.json");
  const std::int64_t batch = golden_models.at("batch_size"), before = golden_models.at("steps_before");
  for (const json& each : golden_models.at("models")) {
    const Case given(each, wholes);
    const std::string name = given.test.at("name");
    INFO(name);
    const double allowed = name.starts_with("mixed") ? 0.01 : 1e-5;
    const ModelPtr model = load_model(ETUDE_GOLDEN_DIR "/keras_models/" + name + ".keras");
    const Tensors outputs = model->call_all(given.x);
    REQUIRE(outputs.size() == given.test.at("outputs").size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      CHECK(difference_from(outputs[i], given.test.at("outputs")[i]) < allowed);
    if (!given.test.contains("losses")) continue;
    const std::int64_t count = given.x[0].shape()[0];
    std::int64_t step = before;
    for (const json& loss : given.test.at("losses")) {
      const std::int64_t begin = step++ * batch % count;
      Logs logs = model->train_on_batch(Batch{Case::rows(given.x, begin, batch), Case::rows(given.y, begin, batch),
                                              Case::rows(given.weight, begin, batch)});
      CHECK(std::abs(logs["loss"] - loss.get<double>()) < std::max(1.0, std::abs(loss.get<double>())) * 10 * allowed);
    }
  }
}
