#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "training_samples.hpp"

// Options of layers that are not part of their configs.

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("Embedding: weights are its first vectors, are trained, and are not part of its config", "[layers]") {
  const Tensor vectors = waves({5, 3});
  const auto layer = layers::embedding({.input_dim = 5, .output_dim = 3, .weights = vectors});
  const Tensor numbers_of_rows = Tensor::from<std::int32_t>({1, 2}, {4, 0});
  Sequential model({layer, layers::flatten()});
  const std::vector<double> all = numbers(vectors);
  std::vector<double> expected(all.begin() + 12, all.end());
  expected.insert(expected.end(), all.begin(), all.begin() + 3);
  CHECK(numbers(model.predict(numbers_of_rows, {.verbose = 0})) == expected);
  model.compile(mse());
  model.train_on_batch(numbers_of_rows, filled({1, 6}, 1));
  const std::vector<double> after = weights_of(model);
  CHECK(std::vector<double>(after.begin(), after.begin() + 3) != std::vector<double>(all.begin(), all.begin() + 3));
  CHECK(std::vector<double>(after.begin() + 3, after.begin() + 12) ==
        std::vector<double>(all.begin() + 3, all.begin() + 12));
  CHECK(numbers(vectors) == all);

  CHECK(to_json<Layer>(*layer).find("weights") == std::string::npos);
  const LayerPtr loaded = from_json<Layer>(to_json<Layer>(*layer));
  loaded->build({1, 2});
  CHECK(loaded->get_weights()[0].shape() == Shape{5, 3});
  CHECK(weights_of(*loaded) != all);
  CHECK_THROWS_WITH(layers::embedding({.input_dim = 5, .output_dim = 2, .weights = vectors}),
                    ContainsSubstring("weights of shape [5, 3] - expected [5, 2]"));
}

TEST_CASE("LSTM and GRU: use_cudnn is true, false or auto, changes nothing, and is not part of the config",
          "[layers]") {
  const auto outputs = [](UseCudnn use_cudnn) {
    Sequential model({layers::lstm({.units = 2,
                                    .kernel_initializer = initializers::glorot_uniform({.seed = 1}),
                                    .recurrent_initializer = "ones",
                                    .return_sequences = true,
                                    .use_cudnn = use_cudnn}),
                      layers::gru({.units = 2,
                                   .kernel_initializer = initializers::glorot_uniform({.seed = 2}),
                                   .recurrent_initializer = "ones",
                                   .use_cudnn = use_cudnn})});
    CHECK(to_json<Layer>(model).find("use_cudnn") == std::string::npos);
    return numbers(model.predict(waves({2, 3, 4}), {.verbose = 0}));
  };
  CHECK(outputs("auto") == outputs(true));
  CHECK(outputs("auto") == outputs(false));
  CHECK_THROWS_WITH(outputs("always"), ContainsSubstring("use_cudnn = \"always\" - expected true, false or \"auto\""));
  const LayerPtr read = from_json<Layer>(R"({"class_name": "LSTM", "config": {"units": 2, "use_cudnn": true}})");
  CHECK(to_json<Layer>(*read).find("use_cudnn") == std::string::npos);
}

}  // namespace etude
