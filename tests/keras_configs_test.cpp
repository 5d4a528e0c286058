#include <catch2/catch_test_macros.hpp>

#include "etude/saving/config.hpp"
#include "etude/training/model.hpp"
#include "golden.hpp"

// Models as Keras 3 describes them by to_json(): tests/golden/model_configs.json.

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
