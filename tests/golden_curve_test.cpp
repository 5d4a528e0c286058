#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>

#include "fashion_mnist.hpp"
#include "golden.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Compares training with curves that numpy and PyTorch computed step by step: see tests/golden/README.md.
namespace etude {
namespace {

using nlohmann::json;
using testing::difference;
using testing::FloatX;
using testing::Tolerance;

/// The contents of a golden file: a network, its initial weights, and its batches in order.
struct Network {
  std::vector<std::int64_t> sizes;
  const char *hidden, *output, *loss;
  double bias_scale;
  std::int64_t batch_size;
  Tensor x, y;

  std::vector<LayerPtr> layers() const {
    std::vector<LayerPtr> result;
    for (std::size_t i = 1; i < sizes.size(); ++i)
      result.push_back(etude::layers::dense({.units = sizes[i], .activation = i + 1 < sizes.size() ? hidden : output}));
    return result;
  }

  /// A sine of the element's index, which needs no common random generator.
  std::vector<Tensor> weights() const {
    std::vector<Tensor> result;
    const auto add = [&](const Shape& shape, double scale, double phase) {
      Tensor tensor(shape, DType::float64);
      double i = 0;
      for (double& element : tensor.data<double>()) element = scale * std::sin(0.7 * i++ + phase);
      result.push_back(std::move(tensor));
    };
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      const auto layer = static_cast<double>(i);
      add({sizes[i], sizes[i + 1]}, std::sqrt(6.0 / static_cast<double>(sizes[i] + sizes[i + 1])), layer + 1);
      add({sizes[i + 1]}, bias_scale, layer + 2);
    }
    return result;
  }

  Batch batch(std::int64_t step) const {
    const std::int64_t begin = step * batch_size % x.shape()[0];
    return {{x.rows(begin, begin + batch_size)}, {y.rows(begin, begin + batch_size)}, {}};
  }
};

Network hello() {
  constexpr std::int64_t rows = 20 * 128;
  return {{784, 512, 10},
          "relu",
          "softmax",
          "sparse_categorical_crossentropy",
          0,
          128,
          fashion_mnist::images(rows, DType::float64),
          fashion_mnist::labels(rows)};
}

/// Two spirals: point i of arm a is sample 2i + a.
Network tiny() {
  Tensor x({512, 2}, DType::float64), y({512, 1}, DType::float64);
  for (std::size_t row = 0; row < 512; ++row) {
    const double r = static_cast<double>(row / 2) / 256, arm = static_cast<double>(row % 2);
    const double theta = 1.75 * r * 2 * std::numbers::pi + arm * std::numbers::pi;
    x.data<double>()[2 * row] = r * std::cos(theta);
    x.data<double>()[2 * row + 1] = r * std::sin(theta);
    y.data<double>()[row] = arm;
  }
  return {{2, 16, 16, 1}, "tanh", "sigmoid", "binary_crossentropy", 0.1, 32, x, y};
}

OptimizerPtr make_optimizer(const json& description) {
  const json& config = description["config"];
  const double rate = config["learning_rate"];
  if (description["class"] == "Adam")
    return optimizers::adam(
        {.learning_rate = rate, .beta_1 = config["beta_1"], .beta_2 = config["beta_2"], .epsilon = config["epsilon"]});
  if (description["class"] == "RMSprop")
    return optimizers::rmsprop({.learning_rate = rate, .rho = config["rho"], .epsilon = config["epsilon"]});
  return optimizers::sgd(
      {.learning_rate = rate, .momentum = config.value("momentum", 0.0), .nesterov = config.value("nesterov", false)});
}

CompileOptions compile_options(const Network& network, const json& curve) {
  return {.optimizer = make_optimizer(curve["optimizer"]), .loss = network.loss, .metrics = {"accuracy"}};
}

struct Curve {
  std::vector<double> losses, accuracies, weight_sums, weights;
};

using Train = std::function<void(Sequential&, const Network&, std::int64_t steps, Curve&)>;

void by_train_on_batch(Sequential& model, const Network& network, std::int64_t steps, Curve& curve) {
  for (std::int64_t step = 0; step < steps; ++step) {
    const Logs logs = model.train_on_batch(network.batch(step));
    curve.losses.push_back(logs["loss"]);
    curve.accuracies.push_back(logs["accuracy"]);
  }
}

/// Epochs of one step, because each epoch's history is that of its own steps; the batches are one stream (L-18).
void by_fit(Sequential& model, const Network& network, std::int64_t steps, Curve& curve) {
  const auto history = model.fit(network.x, network.y,
                                 {.batch_size = network.batch_size,
                                  .epochs = static_cast<int>(steps),
                                  .verbose = 0,
                                  .shuffle = false,
                                  .steps_per_epoch = 1});
  curve.losses = (*history)["loss"];
  curve.accuracies = (*history)["accuracy"];
}

/// Two epochs of half the steps each.
void by_executions(Sequential& model, const Network& network, std::int64_t steps, Curve&) {
  model.fit(
      network.x, network.y,
      {.batch_size = network.batch_size, .epochs = 2, .verbose = 0, .shuffle = false, .steps_per_epoch = steps / 2});
}

Curve train(const Network& network, CompileOptions how, std::int64_t steps, const Train& train) {
  Sequential model(network.layers());
  model.compile(std::move(how));
  model.build({-1, network.sizes[0]});
  model.set_weights(network.weights());
  Curve curve;
  train(model, network, steps, curve);
  for (const Tensor& weight : model.get_weights()) {
    const auto numbers = testing::numbers(weight);
    curve.weight_sums.push_back(std::accumulate(numbers.begin(), numbers.end(), 0.0));
    curve.weights.insert(curve.weights.end(), numbers.begin(), numbers.end());
  }
  return curve;
}

struct Case {
  const char* name;
  /// The relative tolerance of losses in each float type: in float32 twice the error of PyTorch.
  double float64, float32;
};

void check_curve(const Network& network, const json& golden, const Case& bound) {
  const DType dtype = GENERATE(DType::float64, DType::float32);
  const auto [way, train_by] =
      GENERATE(table<const char*, Train>({{"train_on_batch", by_train_on_batch}, {"fit", by_fit}}));
  CAPTURE(dtype, way);
  const FloatX scope(dtype);
  const double tolerance = dtype == DType::float64 ? bound.float64 : bound.float32;
  const std::vector<double> losses = golden["losses"], accuracies = golden["accuracies"],
                            sums = golden["final_weight_sums"];
  const Curve curve =
      train(network, compile_options(network, golden), static_cast<std::int64_t>(losses.size()), train_by);
  CHECK(difference(curve.losses, losses, {.rtol = tolerance}) == "");
  CHECK(difference(curve.accuracies, accuracies, {.rtol = 1e-6}) == "");
  CHECK(difference(curve.weight_sums, sums, {.atol = 5 * tolerance, .rtol = tolerance}) == "");  // of hundreds
}

}  // namespace

TEST_CASE("golden curve: 20 RMSprop steps of the hello model on Fashion-MNIST", "[golden]") {
  check_curve(hello(), testing::golden("hello_curve.json"), {"hello", 1e-12, 4e-7});
}

TEST_CASE("golden curve: 50 steps on two spirals under each optimizer", "[golden]") {
  const Case bound = GENERATE(Case{"sgd", 1e-12, 4e-7}, Case{"sgd_nesterov", 1e-12, 4e-6}, Case{"adam", 1e-12, 4e-7});
  CAPTURE(bound.name);
  check_curve(tiny(), testing::golden("tiny_curve.json")["curves"][bound.name], bound);
}

TEST_CASE("golden curve: compiled, run eagerly, or several steps an execution: weights have the same bits",
          "[golden]") {
  const FloatX scope(GENERATE(DType::float64, DType::float32));
  const json curve = testing::golden("tiny_curve.json")["curves"][GENERATE("sgd", "sgd_nesterov", "adam")];
  const auto weights = [&](bool eagerly, std::int64_t steps_per_execution, const Train& by) {
    CompileOptions how = compile_options(tiny(), curve);
    how.run_eagerly = eagerly;
    how.steps_per_execution = steps_per_execution;
    return train(tiny(), how, 30, by).weights;
  };
  const auto compiled = weights(false, 1, by_train_on_batch);
  CHECK(weights(false, 1, by_fit) == compiled);
  CHECK(weights(true, 1, by_train_on_batch) == compiled);
  CHECK(weights(true, 4, by_executions) == compiled);
  CHECK(weights(false, 4, by_executions) == compiled);
  CHECK(weights(false, 100, by_executions) == compiled);
}

}  // namespace etude
