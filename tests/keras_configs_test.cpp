#include <catch2/catch_test_macros.hpp>
#include <map>

#include "etude/saving/config.hpp"
#include "etude/training/model.hpp"
#include "golden.hpp"

// Models as Keras 3 describes them by to_json(): tests/golden/model_configs.json, op_configs.json.

using namespace etude;
using namespace etude::testing;
using nlohmann::json;

TEST_CASE("models that Keras 3 describes are created, with its weights and results", "[config]") {
  const json models = golden("model_configs.json").at("models");
  CHECK(models.size() == 4);
  for (const json& test : models) {
    const json& config = test.at("config");
    INFO(config.at("class_name") << ' ' << config.at("config").at("name"));
    const auto model = std::dynamic_pointer_cast<Model>(from_json<Layer>(config.dump()));
    REQUIRE(model != nullptr);
    CHECK(model->built());
    std::vector<Tensor> weights;
    for (const json& weight : test.at("weights")) weights.push_back(tensor_of_lists(weight));
    model->set_weights(weights);
    const Tensor y = model->predict(tensor_of_lists(test.at("x")), {.verbose = 0});
    CHECK(difference(y, tensor_of_lists(test.at("y")), {1e-5, 1e-5}) == "");
  }
}

TEST_CASE("ops that Keras 3 describes give its numbers, and are described as Keras does", "[config][symbolic]") {
  const json test = golden("op_configs.json");
  const json& config = test.at("config");
  const auto model = std::dynamic_pointer_cast<Model>(from_json<Layer>(config.dump()));
  REQUIRE(model != nullptr);
  std::vector<Tensor> x;
  for (const json& input : test.at("inputs")) x.push_back(tensor_of_lists(input));
  const std::vector<Tensor> y = model->call_all(x);
  const json &outputs = test.at("outputs"), &names = config.at("config").at("output_layers");
  REQUIRE(y.size() == outputs.size());
  CHECK(y.size() == 130);
  for (std::size_t i = 0; i < y.size(); ++i) {
    INFO(names.at(i));
    const json& want = outputs.at(i);
    REQUIRE(y[i].shape() == shape_in(want.at("shape")));
    CHECK(name_of(y[i].dtype()) == want.at("dtype").get<std::string>());
    CHECK(difference(y[i], tensor_of(y[i].shape(), y[i].dtype(), numbers_in(want.at("value"))), {1e-5, 1e-5}) == "");
  }
  std::map<std::string, json> written;
  const json again = json::parse(to_json<Layer>(*model));
  for (const json& layer : again.at("config").at("layers")) written[layer.at("name")] = layer;
  for (const json& layer : config.at("config").at("layers"))
    if (layer.at("module").get<std::string>().starts_with("keras.src.ops.")) CHECK(written[layer.at("name")] == layer);
}
