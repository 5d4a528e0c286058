#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "mirrored_samples.hpp"
#include "support.hpp"

// Sample weights on classes that are ignored, and on functions of the batch as a whole.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::WithinRel;
using testing::Compiled;

/// What a metric says after one update.
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

TEST_CASE("a weighted metric with ignore_class divides by the weights of what it does not ignore", "[metrics]") {
  const auto metric = [] { return metrics::sparse_categorical_crossentropy({.ignore_class = 0}); };
  const Tensor labels = Tensor::from<std::int32_t>({3}, {0, 1, 2});
  const Tensor y_pred = Tensor::from<float>({3, 3}, {.8F, .1F, .1F, .05F, .95F, 0, .1F, .8F, .1F});
  // Keras 3.15.1 (JAX); with weights Keras 2.12.1 gives the same.
  CHECK_THAT(value_of(metric(), labels, y_pred, Tensor::from<float>({3}, {.5F, 1.5F, 2})),
             WithinRel(1.3377457857, 1e-6));
  CHECK_THAT(value_of(metric(), labels, y_pred), WithinRel(0.7846261859, 1e-6));

  const Tensor steps = Tensor::from<std::int32_t>({2, 2}, {0, 1, 2, 1});
  const Tensor scores = Tensor::from<float>({2, 2, 3}, {.8F, .1F, .1F, .05F, .95F, 0, .1F, .8F, .1F, .2F, .3F, .5F});
  CHECK_THAT(value_of(metric(), steps, scores, Tensor::from<float>({2, 2}, {.5F, 2, 1, 3})),
             WithinRel(1.0028483868, 1e-6));
  CHECK_THAT(value_of(metric(), steps, scores), WithinRel(0.8894628286, 1e-6));
}

TEST_CASE("weights of rows leave out ignored steps, whatever the number of steps", "[metrics]") {
  const auto metric = metrics::sparse_categorical_crossentropy({.ignore_class = 0});
  const Tensor labels = Tensor::from<std::int32_t>({2, 3}, {0, 1, 0, 1, 1, 0});
  const Tensor halves = Tensor::from<float>({2, 3, 2}, {.5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F, .5F});
  // All that counts is log 2.
  CHECK_THAT(value_of(metric, labels, halves, Tensor::from<float>({2}, {1, 3})), WithinRel(std::log(2.0), 1e-6));
}

TEST_CASE("a loss that gives one number for the batch is multiplied by the mean of the weights", "[losses]") {
  // Keras 3.15.1 (JAX) and 2.12.1.
  CHECK(unit(scalar_loss())->test_on_batch(x, zeros)["loss"] == 21.25);
  const Data weighted = Batch{{x}, {zeros}, {weights}};
  CHECK(unit(scalar_loss())->test_on_batch(weighted)["loss"] == 63.75);
  CHECK(unit(scalar_loss())->test_on_batch(Batch{{x}, {zeros}, {weights.reshape({4, 1})}})["loss"] == 63.75);
  CHECK(unit(scalar_loss())->evaluate(weighted, {.batch_size = 2, .verbose = 0})["loss"] == 91.875);
  CHECK(unit(scalar_loss())->evaluate(weighted, {.batch_size = 3, .verbose = 0})["loss"] == 106.5);

  const auto by_class = unit(scalar_loss());
  CHECK(by_class->train_on_batch(Batch{{x}, {zeros}, {}}, {.class_weight = {{0, 2.0}}})["loss"] == 42.5);
  CHECK_THAT(weights_of(*by_class)[0], WithinRel(0.15, 1e-5));
  const auto by_sample = unit(scalar_loss());
  CHECK(by_sample->train_on_batch(weighted)["loss"] == 63.75);
  CHECK_THAT(weights_of(*by_sample)[0], WithinRel(-0.275, 1e-5));
}

TEST_CASE("each reduction takes a loss that gives one number for the batch", "[losses]") {
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
  // Keras 3.15.1 (JAX).
  CHECK(loss("sum", true) == 255);
  CHECK(loss("sum_over_batch_size", true) == 63.75);
  CHECK(loss("mean", true) == 63.75);
  CHECK(loss("mean_with_sample_weight", true) == 21.25);
  CHECK(loss("none", true) == 255);
  for (const char* reduction : {"sum", "sum_over_batch_size", "mean", "mean_with_sample_weight", "none"})
    CHECK(loss(reduction, false) == 21.25);
}

TEST_CASE("a loss that gives one number for the batch is the same behind a mask", "[losses]") {
  struct Masks : Layer {
    Masks() : Layer("Masks") {}
    Value call(Value y, bool) override { return y.with_mask(ops::greater(ops::squeeze(y, -1), ops::scalar(1, y))); }
  };
  Sequential model({summing_unit().front(), std::make_shared<Masks>()});
  model.compile(scalar_loss());
  CHECK(model.test_on_batch(x, zeros)["loss"] == 21.25);
}

TEST_CASE("a weighted metric that gives one number for the batch weighs batches", "[metrics]") {
  CompileOptions how = mse();
  how.metrics = {metrics::from_function(mean_distance, "distance")};
  how.weighted_metrics = {metrics::from_function(mean_distance, "weighted")};
  const Data data = Batch{{x}, {zeros}, {weights}};
  // Keras 2.12.1; 3.15.1 ends with an error.
  CHECK(unit(how)->test_on_batch(data)["weighted"] == 3.75);
  const Logs pairs = unit(how)->evaluate(data, {.batch_size = 2, .verbose = 0});
  CHECK_THAT(pairs["weighted"], WithinRel(4.875, 1e-6));
  CHECK_THAT(pairs["distance"], WithinRel(3.75, 1e-6));
  CHECK_THAT(unit(how)->evaluate(data, {.batch_size = 3, .verbose = 0})["weighted"], WithinRel(5.166666508, 1e-6));
}

TEST_CASE("one number for the batch, weighted, is the mean of what replicas find", "[mirrored]") {
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

TEST_CASE("'Accuracy', 'crossentropy' and 'ce' are resolved by shapes, and logged as they were given", "[metrics]") {
  struct Case {
    Tensor y_true, y_pred;
    double accuracy, crossentropy;
  };
  const Tensor scores = Tensor::from<float>({2, 3}, {.2F, .3F, .5F, .6F, .3F, .1F});
  // Keras 2.12.1.
  const Case cases[] = {{Tensor::from<float>({2, 1}, {0, 1}), Tensor::from<float>({2, 1}, {.2F, .9F}), 1, 0.1642518938},
                        {Tensor::from<std::int32_t>({2, 1}, {2, 1}), scores, 0.5, 0.9485599995},
                        {Tensor::from<std::int32_t>({2}, {2, 1}), scores, 0.5, 0.9485599995},
                        {Tensor::from<float>({2, 3}, {0, 0, 1, 0, 1, 0}), scores, 0.5, 0.9485599995}};
  for (const auto& [y_true, y_pred, accuracy, crossentropy] : cases) {
    Sequential model({layers::activation("linear")});
    const auto loss = losses::from_function([](Value, Value p) { return ops::mean(p, {-1}); });
    model.compile({.loss = loss, .metrics = {"Accuracy", "ACC", "crossentropy", "ce", "CE"}});
    const Logs logs = model.test_on_batch(Batch{{y_pred}, {y_true}, {}});
    CAPTURE(y_true.shape(), y_pred.shape());
    CHECK(keys(logs) == "loss,Accuracy,ACC,crossentropy,ce,CE");
    for (const char* name : {"Accuracy", "ACC"}) CHECK_THAT(logs[name], WithinRel(accuracy, 1e-6));
    for (const char* name : {"crossentropy", "ce", "CE"}) CHECK_THAT(logs[name], WithinRel(crossentropy, 1e-6));
  }
}

}  // namespace etude
