#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support.hpp"
#include "training_samples.hpp"

// What is given for some outputs of several, and what they share. Numbers of Keras 2.12.1 (TensorFlow 2.12).
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using testing::error_of;

LayerPtr times(double factor, const char* name) {
  return layers::dense(
      {.units = 1, .use_bias = false, .kernel_initializer = initializers::constant({.value = factor}), .name = name});
}

/// x [1] -> "a" = x and "b" = 2 x.
Functional a_and_b() {
  const SymbolicTensor x = layers::input({.shape = {1}, .name = "x"});
  return Functional({x}, {times(1, "a")->apply(x), times(2, "b")->apply(x)});
}

const Tensor x = Tensor::from<float>({4, 1}, {1, 2, 4, 8}), zeros = filled({4, 1}, 0);
const Tensor weights = Tensor::from<float>({4}, {1, 2, 3, 6});

CompileOptions still(PerOutput<Choice<Loss>> loss = "mse") {
  return {.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = std::move(loss)};
}

/// All logs of a batch: "loss=4 a_loss=4".
std::string logs_of(const CompileOptions& how, const Data& data) {
  Functional model = a_and_b();
  model.compile(how);
  const Logs logs = model.test_on_batch(data);
  std::string text;
  for (const auto& [name, value] : logs.values()) {
    char number[32];
    std::snprintf(number, sizeof number, "%.6g", value);
    text += (text.empty() ? "" : " ") + name + '=' + number;
  }
  return text;
}

const Data both(Batch{{x}, {zeros, zeros}, {}});
const Data only_b(x, {{"b", zeros}});

std::string logs_of(const MetricChoices& metrics) {
  CompileOptions how = still();
  how.metrics = metrics;
  return logs_of(how, both);
}

/// A metric of a user's own class.
class Own : public Mean {
 public:
  Own() : Mean("own") {}
};

}  // namespace

TEST_CASE("one metric object given for several outputs counts each by itself, and stays as it was", "[metrics]") {
  const auto metric = metrics::mean_absolute_error({.name = "m"});
  CHECK(logs_of({metric}) == "loss=106.25 a_loss=21.25 b_loss=85 a_m=3.75 b_m=7.5");
  for (const Variable& variable : metric->variables()) CHECK(variable.value().item() == 0);
  // It is free for another model, too; that of one output uses the object itself.
  Sequential model(summing_unit());
  model.compile({.loss = "mse", .metrics = {metric}});
  CHECK(model.test_on_batch(x, zeros)["m"] == 3.75);
  CHECK(metric->variables()[0].value().item() == 15);
  Sequential next(summing_unit());
  next.compile({.loss = "mse", .metrics = {metric}});
  CHECK(next.test_on_batch(x, x)["m"] == 0);
}

TEST_CASE("copies of metrics keep their options", "[metrics]") {
  CompileOptions how = still();
  how.metrics = {metrics::binary_accuracy({.name = "large", .threshold = 0.7}),
                 metrics::root_mean_squared_error({.name = "root"}),
                 metrics::from_function([](Value t, Value p) { return ops::mean(p - t, {-1}); }, "difference"),
                 metrics::mean({.name = "mean"}), metrics::sum({.name = "sum"})};
  const Tensor small = filled({4, 1}, 0.5);
  CHECK(logs_of(how, Batch{{small}, {filled({4, 1}, 1), filled({4, 1}, 1)}, {}}) ==
        "loss=0.25 a_loss=0.25 b_loss=0 a_large=0 a_root=0.5 a_difference=-0.5 a_mean=0.5 a_sum=2 b_large=1 b_root=0 "
        "b_difference=0 b_mean=1 b_sum=4");
}

TEST_CASE("a metric object that is given twice is refused, in Keras's words", "[metrics]") {
  const auto metric = metrics::mean_absolute_error({.name = "m"});
  const auto check_refused = [&](const CompileOptions& how) {
    CHECK_THAT(error_of([&] { logs_of(how, both); }),
               ContainsSubstring("Found duplicated metrics object") && ContainsSubstring("\"m\""));
  };
  CompileOptions how = still();
  how.metrics = std::vector<MetricList>{{metric}, {metric}};
  check_refused(how);
  how.metrics = {{"a", metric}, {"b", metric}};
  check_refused(how);
  how.metrics = how.weighted_metrics = {metric};
  check_refused(how);
}

TEST_CASE("a metric of a class that cannot be copied is refused for several outputs", "[metrics]") {
  CHECK_THAT(error_of([] { logs_of({std::make_shared<Own>()}); }),
             ContainsSubstring("one metric \"own\" for several outputs") && ContainsSubstring("overrides copy()"));
}

TEST_CASE("outputs without a loss or a target by name are not trained", "[training]") {
  CHECK(logs_of(still({{"b", "mse"}}), only_b) == "loss=85 b_loss=85");
  CHECK(logs_of(still({{"b", "mse"}}), both) == "loss=85 b_loss=85");
  CHECK(logs_of(still("mse"), only_b) == "loss=85 a_loss=0 b_loss=85");
  CompileOptions how = still({{"b", "mse"}});
  how.metrics = {"mae"};
  CHECK(logs_of(how, only_b) == "loss=85 b_loss=85 a_mae=0 b_mae=7.5");
  how.metrics = {};
  how.weighted_metrics = {"mae"};
  CHECK(logs_of(how, Data(x, {{"b", zeros}}, {{"b", weights}})) == "loss=441 b_loss=441 a_mae=0 b_mae=10.8333");
  CHECK(logs_of(how, Data(x, {{"b", zeros}}, {{"a", weights}})) == "loss=85 b_loss=85 a_mae=0 b_mae=7.5");
}

TEST_CASE("targets of some outputs go through fit, its validation, and what is split off", "[training]") {
  const std::vector<std::vector<double>> list{{1}, {2}, {4}, {8}}, nothing{{0}, {0}, {0}, {0}};
  for (const Data& data : {only_b, Data(list, {{"b", nothing}})}) {
    Functional model = a_and_b();
    model.compile(still({{"b", "mse"}}));
    const auto history = model.fit(data, {.verbose = 0, .validation_data = data});
    CHECK((*history)["loss"] == std::vector{85.0});
    CHECK((*history)["val_b_loss"] == std::vector{85.0});
    const auto split = model.fit(data, {.batch_size = 1, .verbose = 0, .validation_split = 0.5, .shuffle = true});
    CHECK((*split)["loss"] == std::vector{10.0});
    CHECK((*split)["val_loss"] == std::vector{160.0});
  }
}

TEST_CASE("training some outputs moves their weights alone", "[training]") {
  for (const bool eagerly : {false, true}) {
    Functional model = a_and_b();
    CompileOptions how = still({{"b", "mse"}});
    how.optimizer = optimizers::sgd({.learning_rate = 0.001});
    how.run_eagerly = eagerly;
    model.compile(how);
    model.train_on_batch(only_b);
    CHECK(model.get_weights()[0].item() == 1);
    CHECK_THAT(model.get_weights()[1].item(), WithinRel(2 - 0.001 * 2 * 2 * 85.0 / 4, 1e-6));
  }
}

TEST_CASE("no target for any output that has a loss is told", "[training]") {
  CHECK_THAT(error_of([] { logs_of(still({{"a", "mse"}}), only_b); }), ContainsSubstring("Target data is missing"));
}

TEST_CASE("metrics come in all of Keras's forms for several outputs", "[metrics]") {
  const std::string losses = "loss=106.25 a_loss=21.25 b_loss=85 ";
  CHECK(logs_of({{"b", "mae"}}) == losses + "b_mae=7.5");
  CHECK(logs_of({{"a", {}}, {"b", {"mae", "mse"}}}) == losses + "b_mae=7.5 b_mse=85");
  CHECK(logs_of(MetricsByName{{"b", "mae"}}) == losses + "b_mae=7.5");
  CHECK(logs_of(std::vector<MetricList>{{}, {"mae"}}) == losses + "b_mae=7.5");
  CHECK(logs_of(std::vector<MetricList>{{"mae"}, "mse"}) == losses + "a_mae=3.75 b_mse=85");
  CHECK(logs_of({"mae"}) == losses + "a_mae=3.75 b_mae=7.5");
  CHECK_THAT(error_of([] { logs_of(std::vector<MetricList>{{"mae"}, "mse", "mae"}); }),
             ContainsSubstring("3 entries in `metrics` for a model with 2 outputs"));
}

TEST_CASE("lists of metrics are joined for a model of one output", "[metrics]") {
  Sequential model(summing_unit());
  model.compile({.loss = "mse", .metrics = std::vector<MetricList>{{"mae"}, "mse"}});
  const Logs logs = model.test_on_batch(x, zeros);
  CHECK(keys(logs) == "loss,mae,mse");
  CHECK(logs["mse"] == 21.25);
}

TEST_CASE("a weighted metric that is called as another one is logged with weighted_ before it", "[metrics]") {
  CompileOptions how = still();
  how.metrics = {{"a", "mae"}};
  how.weighted_metrics = {{"a", "mae"}, {"b", "mae"}};
  const Data data(x, {{"a", zeros}, {"b", zeros}}, {{"a", weights}, {"b", weights}});
  CHECK(logs_of(how, data) == "loss=551.25 a_loss=110.25 b_loss=441 a_mae=3.75 a_weighted_mae=5.41667 b_mae=10.8333");

  Sequential model(summing_unit());
  model.compile({.loss = "mse", .metrics = {"mae"}, .weighted_metrics = {"mae", "mae"}});
  const Logs logs = model.test_on_batch(Batch{{x}, {zeros}, {weights}});
  CHECK(keys(logs) == "loss,mae,weighted_mae,weighted_mae_1");
  CHECK(logs["mae"] == 3.75);
  CHECK_THAT(logs["weighted_mae"], WithinRel(65.0 / 12, 1e-6));
}

}  // namespace etude
