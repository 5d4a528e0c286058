#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "golden.hpp"
#include "mirrored_samples.hpp"

// Sample weights with ignored classes, and with functions of the whole batch. The numbers are those of Keras 2 and 3.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::WithinRel;
using nlohmann::json;
using testing::Compiled;
using testing::keras;

/// The result of a metric after one update.
double value_of(const MetricPtr& metric, const Tensor& y_true, const Tensor& y_pred, const Tensor& weight = {}) {
  std::vector<Tensor> given{y_true, y_pred};
  if (weight) given.push_back(weight);
  Compiled step(given, [&](Graph&, std::span<const Value> v) {
    metric->update_state(v[0], v[1], weight ? v[2] : Value{});
    return Compiled::Outcome{};
  });
  step.run(given);
  return testing::run({}, [&](auto) { return metric->result(); }).item();
}

Value mean_square(Value y_true, Value y_pred) { return ops::mean(ops::square(y_true - y_pred)); }
Value mean_distance(Value y_true, Value y_pred) { return ops::mean(ops::absolute(y_true - y_pred)); }

const Tensor x = Tensor::from<float>({4, 1}, {1, 2, 4, 8}), zeros = filled({4, 1}, 0);
const Tensor weights = Tensor::from<float>({4}, {1, 2, 3, 6});

std::unique_ptr<Sequential> unit(CompileOptions how) {
  auto model = std::make_unique<Sequential>(summing_unit());
  model->compile(std::move(how));
  return model;
}

CompileOptions scalar_loss() {
  return {.optimizer = optimizers::sgd({.learning_rate = 0.01}), .loss = losses::from_function(mean_square)};
}

}  // namespace

TEST_CASE("a weighted metric with ignore_class divides by the weights of the classes that count", "[metrics]") {
  int cases = 0;
  for (const json& test : testing::golden("conformance/keras3.json")) {
    if (test.at("target") != "SparseCategoricalCrossentropy") continue;
    const json& given = test.at("inputs").at("updates").at(0);
    const auto array = [&](const char* name, DType dtype) {
      Shape shape;
      for (const json* level = &given.at(name); level->is_array(); level = &level->front())
        shape.append(static_cast<std::int64_t>(level->size()));
      return testing::tensor_of(shape, dtype, testing::numbers_in(given.at(name)));
    };
    CAPTURE(test.at("id").get<std::string>());
    CHECK_THAT(value_of(metrics::sparse_categorical_crossentropy({.ignore_class = 0}), array("y_true", DType::int32),
                        array("y_pred", DType::float32),
                        given.contains("sample_weight") ? array("sample_weight", DType::float32) : Tensor{}),
               WithinRel(test.at("expect").at("value").get<double>(), 1e-6));
    ++cases;
  }
  CHECK(cases == 4);
}

TEST_CASE("weights of rows exclude ignored steps, for any number of steps", "[metrics]") {
  const auto metric = metrics::sparse_categorical_crossentropy({.ignore_class = 0});
  const Tensor labels = Tensor::from<std::int32_t>({2, 3}, {0, 1, 0, 1, 1, 0});
  const Tensor halves = Tensor::from<float>({2, 3, 2}, {.5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F});
  // All entries that count are log 2.
  CHECK_THAT(value_of(metric, labels, halves, Tensor::from<float>({2}, {1, 3})), WithinRel(std::log(2.0), 1e-6));
}

TEST_CASE("a loss of one number per batch is multiplied by the mean of the weights", "[losses]") {
  const json wanted = keras(GENERATE(2, 3), "a loss of one number");
  CHECK(unit(scalar_loss())->test_on_batch(x, zeros)["loss"] == wanted.at("unweighted"));
  const Data weighted = Batch{{x}, {zeros}, {weights}};
  CHECK(unit(scalar_loss())->test_on_batch(weighted)["loss"] == wanted.at("weighted"));
  CHECK(unit(scalar_loss())->test_on_batch(Batch{{x}, {zeros}, {weights.reshape({4, 1})}})["loss"] ==
        wanted.at("weights in a column"));
  CHECK(unit(scalar_loss())->evaluate(weighted, {.batch_size = 2, .verbose = 0})["loss"] == wanted.at("evaluate by 2"));
  CHECK(unit(scalar_loss())->evaluate(weighted, {.batch_size = 3, .verbose = 0})["loss"] == wanted.at("evaluate by 3"));

  const auto by_class = unit(scalar_loss());
  CHECK(by_class->train_on_batch(Batch{{x}, {zeros}, {}}, {.class_weight = {{0, 2.0}}})["loss"] ==
        wanted.at("class_weight 2").at(0));
  CHECK_THAT(weights_of(*by_class)[0], WithinRel(wanted.at("class_weight 2").at(1).get<double>(), 1e-5));
  const auto by_sample = unit(scalar_loss());
  CHECK(by_sample->train_on_batch(weighted)["loss"] == wanted.at("trained, weighted").at(0));
  CHECK_THAT(weights_of(*by_sample)[0], WithinRel(wanted.at("trained, weighted").at(1).get<double>(), 1e-5));
}

TEST_CASE("each reduction accepts a loss of one number per batch", "[losses]") {
  struct Own : Loss {
    explicit Own(const char* reduction) : Loss("own", reduction_from_name(reduction)) {}
    Value call(Value y_true, Value y_pred) override { return mean_square(y_true, y_pred); }
  };
  const auto loss = [](const char* reduction, bool weighted) {
    const std::vector<Tensor> given{zeros, x, weights};
    return testing::run_on(default_device(), given,
                           [&](std::span<const Value> v) {
                             return ops::sum(Own(reduction)(v[0], v[1], weighted ? v[2] : Value{}));
                           })
        .item();
  };
  const json wanted = keras(3, "reductions of one number");
  CHECK(wanted.size() == 5);
  for (const auto& [reduction, values] : wanted.items()) {
    CAPTURE(reduction);
    CHECK(loss(reduction.c_str(), true) == values.at("weighted"));
    CHECK(loss(reduction.c_str(), false) == values.at("unweighted"));
  }
}

TEST_CASE("a loss of one number per batch is the same with a mask", "[losses]") {
  struct Masks : Layer {
    Masks() : Layer("Masks") {}
    Value call(Value y, bool) override { return y.with_mask(ops::greater(ops::squeeze(y, -1), ops::scalar(1, y))); }
  };
  Sequential model({summing_unit().front(), std::make_shared<Masks>()});
  model.compile(scalar_loss());
  CHECK(model.test_on_batch(x, zeros)["loss"] == 21.25);
}

TEST_CASE("a weighted metric of one number per batch weights batches", "[metrics]") {
  CompileOptions how = mse();
  how.metrics = {metrics::from_function(mean_distance, "distance")};
  how.weighted_metrics = {metrics::from_function(mean_distance, "mean_distance")};
  const Data data = Batch{{x}, {zeros}, {weights}};
  // Keras 3 throws an error.
  const json wanted = keras(2, "a weighted metric of one number");
  const auto check_logs = [&](const char* name, const Logs& logs) {
    CAPTURE(name);
    for (const json& log : wanted.at(name))
      CHECK_THAT(logs[log.at(0).get<std::string>()], WithinRel(log.at(1).get<double>(), 1e-6));
  };
  check_logs("on a batch", unit(how)->test_on_batch(data));
  check_logs("by 2", unit(how)->evaluate(data, {.batch_size = 2, .verbose = 0}));
  check_logs("by 3", unit(how)->evaluate(data, {.batch_size = 3, .verbose = 0}));
}

TEST_CASE("one weighted number per batch is the mean over replicas", "[mirrored]") {
  const auto train = [](int replicas) {
    const auto model = within(mirrored(replicas), [] {
      CompileOptions how = scalar_loss();
      how.weighted_metrics = {metrics::from_function(mean_distance, "distance")};
      return unit(how);
    });
    const Logs logs = model->train_on_batch(Batch{{filled({4, 1}, 3)}, {zeros}, {weights}});
    return std::vector{logs["loss"], logs["distance"], weights_of(*model)[0]};
  };
  CHECK(distance(train(2), train(1)) < 1e-6);
  CHECK(train(1)[0] == 27);
}

TEST_CASE("'Accuracy', 'crossentropy' and 'ce' are resolved by shapes, and logged under the given name", "[metrics]") {
  for (const json& test : keras(2, "names resolved by shapes")) {
    const Tensor y_true = testing::tensor_in(test.at("y_true")), y_pred = testing::tensor_in(test.at("y_pred"));
    Sequential model({layers::activation("linear")});
    const auto loss = losses::from_function([](Value, Value p) { return ops::mean(p, {-1}); });
    model.compile({.loss = loss, .metrics = {"Accuracy", "ACC", "crossentropy", "ce", "CE"}});
    const Logs logs = model.test_on_batch(Batch{{y_pred}, {y_true}, {}});
    CAPTURE(y_true.shape(), y_pred.shape());
    REQUIRE(logs.size() == test.at("logs").size());
    for (std::size_t i = 0; i < logs.size(); ++i) {
      CHECK(logs.name(i) == test.at("logs").at(i).at(0).get<std::string>());
      CHECK_THAT(logs[logs.name(i)], WithinRel(test.at("logs").at(i).at(1).get<double>(), 1e-6));
    }
  }
}

}  // namespace etude
