#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

#include "training_samples.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

/// Restores the configuration.
struct Configuration {
  double epsilon_before = epsilon();
  std::string format_before = image_data_format();
  ~Configuration() {
    set_epsilon(epsilon_before);
    set_image_data_format(format_before);
  }
};

/// The result of losses::poisson() for a target and a prediction.
double poisson(float target, float prediction) {
  Sequential model({layers::identity()});
  model.compile({.loss = "poisson"});
  return model.evaluate(filled({1, 1}, prediction), filled({1, 1}, target), {.verbose = 0})["loss"];
}

}  // namespace

TEST_CASE("set_epsilon: losses and constraints of later traces use it", "[base]") {
  const Configuration restored;
  CHECK(epsilon() == 1e-7);
  CHECK(poisson(1, 0) == Approx(-std::log(1e-7)));
  set_epsilon(0.25);
  CHECK(epsilon() == 0.25);
  CHECK(poisson(1, 0) == Approx(-std::log(0.25)));
  // A unit norm of the weight [3] is 3 / (3 + epsilon) after an update without a gradient.
  Sequential model({layers::dense({.units = 1, .use_bias = false, .kernel_constraint = "unit_norm"})});
  model.build({1, 1});
  model.set_weights({filled({1, 1}, 3)});
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse"});
  model.train_on_batch(filled({1, 1}, 1), filled({1, 1}, 1));
  CHECK(weights_of(model).front() == Approx(3 / 3.25));
  CHECK_THROWS_WITH(set_epsilon(0), ContainsSubstring("expected a finite number above 0"));
  CHECK_THROWS_WITH(set_epsilon(NAN), ContainsSubstring("expected a finite number above 0"));
  CHECK(epsilon() == 0.25);
}

TEST_CASE("set_image_data_format: the default of layers that are made later", "[base]") {
  const Configuration restored;
  const auto outputs = [](const LayerPtr& layer) {
    Sequential model({layer});
    return model.predict(waves({2, 5, 4, 3}), {.verbose = 0}).shape();
  };
  const auto before = layers::conv2d({.filters = 7, .kernel_size = 2});
  set_image_data_format("channels_first");
  CHECK(image_data_format() == "channels_first");
  CHECK(outputs(before) == Shape{2, 4, 3, 7});
  CHECK(outputs(layers::conv2d({.filters = 7, .kernel_size = 2})) == Shape{2, 7, 3, 2});
  CHECK(outputs(layers::conv2d({.filters = 7, .kernel_size = 2, .data_format = "channels_last"})) == Shape{2, 4, 3, 7});
  CHECK(outputs(layers::max_pooling2d()) == Shape{2, 5, 2, 1});
  CHECK(outputs(layers::global_average_pooling2d()) == Shape{2, 5});
  // A config has the format, so it does not depend on later settings.
  Sequential model({layers::conv2d({.filters = 7, .kernel_size = 2})});
  const std::string config = to_json<Layer>(model);
  set_image_data_format("channels_last");
  const ModelPtr loaded = model_from_json(config);
  CHECK(loaded->predict(waves({2, 5, 4, 3}), {.verbose = 0}).shape() == Shape{2, 7, 3, 2});
  CHECK_THROWS_WITH(set_image_data_format("channels"), ContainsSubstring("expected \"channels_last\""));
}

}  // namespace etude
