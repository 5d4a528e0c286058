#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "config_samples.hpp"
#include "etude/ops/shape.hpp"
#include "golden.hpp"
#include "training_samples.hpp"
#include "zero_extents.hpp"

// Extents of 0 for losses, metrics, initializers, regularizers, constraints, activations and optimizers: an Error, or a
// result of the shape that follows from the rule for other extents.

using namespace etude;
using namespace etude::testing;

TEST_CASE("every loss and every metric accepts batches and samples without numbers, or throws an Error", "[zero]") {
  const std::vector<std::pair<Shape, Shape>> cases{
      {{0, 3}, {0, 3}}, {{0, 1}, {0, 3}}, {{0}, {0, 3}},         {{0}, {0}},
      {{2, 0}, {2, 0}}, {{2}, {2, 0}},    {{2, 0, 3}, {2, 0, 3}}};
  const std::set<std::string> always{"BinaryAccuracy",      "BinaryCrossentropy",
                                     "CategoricalAccuracy", "CategoricalCrossentropy",
                                     "CosineSimilarity",    "Huber",
                                     "KLDivergence",        "MeanAbsoluteError",
                                     "MeanSquaredError",    "Poisson",
                                     "RootMeanSquaredError"};
  for (const std::string& name : class_names<Loss>())
    for (const auto& [truth, prediction] : cases) {
      INFO(name << ' ' << truth << ' ' << prediction);
      const LossPtr loss = made<Loss>(name);
      const auto y = unless_error([&] {
        return run({Tensor(truth), Tensor(prediction)}, [&](Values x) {
          const Value value = (*loss)(x[0], x[1]);
          return ops::concatenate({ops::reshape(value, {1}),
                                   ops::reshape(ops::sum(gradients(value, std::vector<Value>{x[1]}).front()), {1})},
                                  0);
        });
      });
      // Keras 2 returns 0 for an empty batch; Keras 3 a tensor without elements, which is not a loss. Dice and Tversky
      // are one number for the whole batch.
      const bool of_rows = prediction[0] == 0 && prediction.rank() == 2 && name != "Dice" && name != "Tversky";
      if (truth == prediction && of_rows && always.contains(name)) CHECK(y.has_value());
      if (y && of_rows) CHECK(numbers(*y) == zeros(2));
    }
  for (const auto& [name, loss] : keras(2, "losses of empty batches").items()) {
    CHECK(always.contains(name));
    CHECK(loss == 0);
  }
  for (const std::string& name : class_names<Metric>())
    for (const auto& [truth, prediction] : cases) {
      INFO(name << ' ' << truth << ' ' << prediction);
      const MetricPtr metric = made<Metric>(name);
      const auto result = unless_error([&] {
        return run({Tensor(truth), Tensor(prediction)}, [&](Values x) {
          metric->update_state(x[0], x[1]);
          return metric->result();
        });
      });
      // In Keras 2 and 3 a metric of an empty batch is 0.
      const bool of_rows = prediction[0] == 0 && prediction.rank() == 2;
      if (truth == prediction && of_rows && always.contains(name)) CHECK(result.has_value());
      if (result && of_rows) CHECK(numbers(*result) == zeros(static_cast<std::size_t>(result->size())));
    }
  for (const int version : {2, 3})
    for (const auto& [name, value] : keras(version, "metrics of empty batches").items()) {
      CHECK(always.contains(name));
      CHECK(value == 0);
    }
}

TEST_CASE("every initializer accepts extents of 0, or throws an Error", "[zero]") {
  for (const std::string& name : class_names<Initializer>())
    for (const Shape& shape : {Shape{0}, Shape{0, 4}, Shape{4, 0}, Shape{0, 0}, Shape{2, 0, 4}, Shape{3, 3, 0, 2}}) {
      INFO(name << ' ' << shape);
      const auto y = unless_error([&] { return (*made<Initializer>(name))(shape, DType::float32); });
      if (shape.rank() > 1 && name != "STFT" && (shape.rank() == 2 || name != "Identity")) REQUIRE(y);
      if (y) CHECK(y->shape() == shape);
    }
}

TEST_CASE("every regularizer accepts extents of 0, or throws an Error", "[zero]") {
  for (const std::string& name : class_names<Regularizer>())
    for (const Shape& shape : {Shape{0}, Shape{0, 4}, Shape{4, 0}, Shape{0, 0}, Shape{3, 3, 0, 2}}) {
      INFO(name << ' ' << shape);
      const RegularizerPtr regularizer = made<Regularizer>(name);
      const auto penalty = unless_error([&] {
        return run({Tensor(shape)}, [&](Values x) {
          const Value y = (*regularizer)(x[0]);
          const std::vector<Value> dx = gradients(y, x);
          return dx[0] ? y + ops::sum(dx[0]) : y;
        });
      });
      // An empty sum is 0; "orthogonal" divides by the number of pairs of rows.
      if (name == "L1" || name == "L2" || name == "L1L2") REQUIRE(penalty);
      if (!penalty) continue;
      CHECK(penalty->shape() == Shape{});
      if (name.starts_with('L')) CHECK(penalty->item() == 0);
    }
}

TEST_CASE("every constraint accepts extents of 0, or throws an Error", "[zero]") {
  for (const std::string& name : class_names<Constraint>())
    for (const Shape& shape : {Shape{0}, Shape{0, 4}, Shape{4, 0}, Shape{0, 0}, Shape{3, 3, 0, 2}}) {
      INFO(name << ' ' << shape);
      const auto y =
          unless_error([&] { return run({Tensor(shape)}, [&](Values x) { return (*made<Constraint>(name))(x[0]); }); });
      if (name != "RadialConstraint" || shape.rank() == 4) REQUIRE(y);
      if (y) CHECK(y->shape() == shape);
    }
}

TEST_CASE("every activation accepts extents of 0, or throws an Error", "[zero]") {
  int computed = 0;
  for (const char* name :
       {"linear",    "relu",    "leaky_relu",  "relu6",         "elu",          "selu",      "celu",
        "gelu",      "silu",    "swish",       "mish",          "softplus",     "softsign",  "squareplus",
        "sigmoid",   "tanh",    "log_sigmoid", "exponential",   "hard_sigmoid", "hard_silu", "hard_swish",
        "hard_tanh", "softmax", "tanh_shrink", "hard_shrink",   "soft_shrink",  "threshold", "log_softmax",
        "sparsemax", "glu",     "sparse_plus", "sparse_sigmoid"})
    for (const Shape& shape : {Shape{0}, Shape{0, 4}, Shape{4, 0}, Shape{2, 0, 4}, Shape{0, 0}}) {
      INFO(name << ' ' << shape);
      const Function function = [&](Values x) { return activations::get(name)(x[0]); };
      const auto y = unless_error([&] { return run({Tensor(shape)}, function); });
      const auto trained = unless_error([&] { return run({Tensor(shape)}, with_gradients(function)); });
      CHECK(y.has_value() == trained.has_value());
      if (!y) continue;
      ++computed;
      Shape want = shape;
      if (std::string_view(name) == "glu") want[-1] /= 2;
      CHECK(y->shape() == want);
      CHECK(trained->item() == 0);
    }
  CHECK(computed > 140);  // of 160
}

TEST_CASE("every optimizer accepts variables with extents of 0, and updates the others", "[zero]") {
  int tried = 0;
  for (const std::string& name : class_names<Optimizer>())
    for (const Shape& shape : {Shape{0}, Shape{0, 4}, Shape{4, 0}, Shape{0, 0}}) {
      INFO(name << ' ' << shape);
      const OptimizerPtr optimizer = made<Optimizer>(name);
      ++tried;
      const Variable empty_one("empty", Tensor(shape)), other("other", Tensor::from<float>({2}, {1, -2}));
      Compiled step(std::vector{Tensor({2})}, [&](Graph& graph, Values gradient) {
        const Value none = graph.constant(0, DType::float32, shape);
        static_cast<void>(optimizer->scale_loss(graph.constant(0, DType::float32, {})));
        optimizer->apply({none, gradient[0]}, {empty_one, other});
        return Compiled::Outcome{};
      });
      for (int i = 0; i < 2; ++i) step.run(std::vector{Tensor::from<float>({2}, {0.5, -0.25})});
      CHECK(empty_one.value().shape() == shape);
      CHECK(numbers(other.value()) != std::vector<double>{1, -2});
      for (const double number : numbers(other.value())) CHECK(std::isfinite(number));
    }
  CHECK(tried >= 52);  // 13 optimizers
}
