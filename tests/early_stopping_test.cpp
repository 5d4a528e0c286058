#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "golden.hpp"
#include "training_samples.hpp"

// EarlyStopping, and the common rules of monitoring callbacks: rules C-1 to C-5.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({8, 3}), y = signs_of(x);

/// A small model whose epochs report the values of a test as `name`, and the logs of `otherwise`.
struct Scripted {
  Sequential model{two_dense()};
  std::vector<std::vector<double>> weights;
  Texts said, warned;

  Scripted() { model.compile({.optimizer = optimizers::sgd(), .loss = "mse", .metrics = {"accuracy"}}); }

  EarlyStoppingOptions options(EarlyStoppingOptions given) {
    given.print = [this](std::string_view text) { said.emplace_back(text); };
    given.warn = [this](std::string_view text) { warned.emplace_back(text); };
    return given;
  }

  /// The epochs that ran.
  std::vector<int> fit(const CallbackPtr& callback, const std::string& name, std::vector<double> values,
                       int stop_at = -1) {
    const auto script = callbacks::lambda({.on_epoch_end = [&, stop_at](int epoch, Logs& logs) {
      logs.set(name, values[static_cast<std::size_t>(epoch)]);
      weights.push_back(weights_of(model));
      if (epoch == stop_at) model.stop_training = true;
    }});
    return model.fit(x, y, {.epochs = static_cast<int>(values.size()), .verbose = 0, .callbacks = {script, callback}})
        ->epoch();
  }
  std::vector<int> fit(EarlyStoppingOptions given, std::vector<double> values, int stop_at = -1) {
    const std::string name = given.monitor;
    return fit(callbacks::early_stopping(options(std::move(given))), name, std::move(values), stop_at);
  }
};

std::vector<int> up_to(int last) {
  std::vector<int> epochs;
  for (int epoch = 0; epoch <= last; ++epoch) epochs.push_back(epoch);
  return epochs;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("early stopping: it stops after `patience` epochs without improvement; 0 counts as 1 (C-3)", "[callbacks]") {
  const int patience = GENERATE(0, 1, 2, 4);
  Scripted run;
  const std::vector<double> losses{10, 9, 8, 9, 8.9, 8.8, 8.7, 8.6, 8.5, 8.4};
  CHECK(run.fit({.monitor = "loss", .patience = patience}, losses) == up_to(std::max(patience, 1) + 2));
}

TEST_CASE("early stopping: an improvement restarts patience, and the first value is one (C-2)", "[callbacks]") {
  Scripted run;
  CHECK(run.fit({.monitor = "loss", .patience = 2}, {5, 6, 4, 6, 3, 6, 6, 6}) == up_to(6));
  CHECK(run.fit({.monitor = "loss", .patience = 3}, {1e30, 1e29, 1e28}) == up_to(2));
}

TEST_CASE("early stopping: no value improves on a first value that is NaN (C-2)", "[callbacks]") {
  Scripted run;
  CHECK(run.fit({.monitor = "loss"}, {nan, 1, 0.5}) == up_to(1));
}

TEST_CASE("early stopping: a change counts if it exceeds min_delta, of either sign (C-2)", "[callbacks]") {
  const double sign = GENERATE(1, -1);
  Scripted run;
  CHECK(run.fit({.monitor = "loss", .min_delta = sign * 0.5}, {4, 3, 2.5, 1}) == up_to(2));
  CHECK(run.fit({.monitor = "score", .min_delta = sign * 0.5, .mode = "max"}, {1, 2, 2.5, 9}) == up_to(2));
}

TEST_CASE("early stopping: patience restarts only when the baseline is beaten too (C-3)", "[callbacks]") {
  Scripted run;
  CHECK(run.fit({.monitor = "loss", .patience = 2, .baseline = 0.5}, {0.9, 0.8, 0.7, 0.8, 0.6}) == up_to(3));
  CHECK(run.fit({.monitor = "loss", .patience = 2, .baseline = 0.85}, {0.9, 0.8, 0.9, 0.7, 0.6}) == up_to(4));
}

TEST_CASE("early stopping: epochs before start_from_epoch are ignored (C-5)", "[callbacks]") {
  Scripted run;
  CHECK(run.fit({.monitor = "loss", .start_from_epoch = 3}, {1, 2, 3, 4, 5, 1, 1}) == up_to(4));
}

TEST_CASE("early stopping: the model ends with the weights of its best epoch, for any reason of the stop (C-4)",
          "[callbacks]") {
  const int stop_at = GENERATE(-1, 3);
  const int patience = GENERATE(1, 9);
  CAPTURE(stop_at, patience);
  Scripted run;
  run.fit({.monitor = "loss", .patience = patience, .verbose = 1, .restore_best_weights = true}, {3, 1, 2, 3, 4},
          stop_at);
  REQUIRE(run.weights.size() >= 3);
  CHECK(run.weights[1] != run.weights[2]);
  CHECK(weights_of(run.model) == run.weights[1]);
  REQUIRE_FALSE(run.said.empty());
  CHECK(run.said.back() == "Restoring model weights from the end of the best epoch: 2.");
}

TEST_CASE("early stopping: the best epoch is restored even if the baseline is never beaten (C-4)", "[callbacks]") {
  Scripted run;
  run.fit({.monitor = "loss", .patience = 5, .baseline = 0.1, .restore_best_weights = true}, {3, 1, 2});
  CHECK(weights_of(run.model) == run.weights[1]);
}

TEST_CASE("early stopping: without restore_best_weights the last weights stay", "[callbacks]") {
  Scripted run;
  run.fit({.monitor = "loss", .patience = 1}, {3, 1, 2, 3});
  CHECK(weights_of(run.model) == run.weights.back());
}

TEST_CASE("early stopping: it reports a stop only if verbose", "[callbacks]") {
  Scripted run;
  run.fit({.monitor = "loss", .verbose = 1}, {3, 2, 1});
  CHECK(run.said.empty());
  run.fit({.monitor = "loss", .verbose = 1}, {3, 2, 4, 1});
  CHECK(run.said == Texts{"Epoch 3: early stopping"});
  run.fit({.monitor = "loss"}, {3, 4});
  CHECK(run.said.size() == 1);
}

TEST_CASE("early stopping: the same object starts again in another fit", "[callbacks]") {
  Scripted run;
  const auto stopping = callbacks::early_stopping({.monitor = "loss"});
  CHECK(run.fit(stopping, "loss", {1, 2, 3}) == up_to(1));
  CHECK(stopping->stopped_epoch() == 1);
  CHECK(run.fit(stopping, "loss", {9, 8, 7}) == up_to(2));
  CHECK(stopping->stopped_epoch() == 0);
  CHECK(stopping->best() == 7);
}

TEST_CASE("early stopping: a missing monitor is a warning each epoch, and never stops fit (C-5)", "[callbacks]") {
  Scripted run;
  CHECK(run.fit(callbacks::early_stopping(run.options({})), "mine", {1, 2, 3}) == up_to(2));
  CHECK(run.warned == Texts(3,
                            "Early stopping conditioned on metric `val_loss` which is not available. "
                            "Available metrics are: loss,accuracy,mine"));
}

TEST_CASE("monitor: auto uses the metric's direction, for its name and with val_ (C-1)", "[callbacks]") {
  const bool validation = GENERATE(false, true);
  const std::string prefix = validation ? "val_" : "";
  // Each value falls and then grows: a monitor of growing values stops first.
  Scripted run;
  CHECK(run.fit({.monitor = prefix + "accuracy"}, {3, 2, 1, 4}) == up_to(1));
  CHECK(run.fit({.monitor = prefix + "loss"}, {3, 2, 1, 4}) == up_to(3));
  run.model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mse"}});
  CHECK(run.fit({.monitor = prefix + "mse"}, {3, 2, 1, 4}) == up_to(3));
}

TEST_CASE("monitor: every metric of the catalogue has a direction of improvement (C-1)", "[callbacks]") {
  for (const char* name : {"accuracy", "acc", "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy"})
    CHECK(metrics::get(name, {4, 3}, {4, 3})->direction == Direction::up);
  for (const char* name : {"mse", "binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy"})
    CHECK(metrics::get(name, {4, 3}, {4, 3})->direction == Direction::down);
  CHECK(metrics::mean()->direction == Direction::unknown);
}

TEST_CASE("monitor: an unknown direction is an error that lists the known ones (C-1)", "[callbacks]") {
  Scripted run;
  run.model.compile({.optimizer = "sgd",
                     .loss = "mse",
                     .metrics = {metrics::from_function([](Value t, Value p) { return t * p; }, "product")}});
  CHECK(error_of([&] { run.fit({.monitor = "product"}, {1, 2}); }) ==
        "[EarlyStopping] monitor = \"product\" has an unknown direction - expected one of: loss, product - name a log "
        "with "
        "a known direction, or set mode to \"max\" or \"min\".");
  CHECK_THAT(error_of([&] { run.fit(callbacks::reduce_lr_on_plateau({.monitor = "val_auc"}), "mine", {1, 2}); }),
             ContainsSubstring("[ReduceLROnPlateau] monitor = \"val_auc\"") &&
                 ContainsSubstring("expected one of: loss, product, mine -"));
  CHECK(run.fit({.monitor = "product", .mode = "max"}, {1, 2, 1}) == up_to(2));
}

TEST_CASE("monitor: an unknown mode is a warning, and auto is used (C-1)", "[callbacks]") {
  Scripted run;
  CHECK(run.fit({.monitor = "accuracy", .mode = "most"}, {1, 2, 1, 3}) == up_to(2));
  CHECK(run.warned == Texts{"EarlyStopping mode 'most' is unknown, fallback to auto mode."});
}

TEST_CASE("monitor: in mode auto the names of Keras's metrics determine the direction (C-1)", "[callbacks]") {
  // With an output's name, and in JavaScript's spelling of functions.
  Texts up{"val_left_f1_score", "f1Score", "meanIoU"}, down{"left_loss", "val_left_mse", "accuracy_loss"};
  // The names of metrics with a direction in Keras 3, the first and the second of a class.
  for (const auto& [name, direction] : testing::keras(3, "directions").items())
    (direction == "up" ? up : down).push_back(name);
  // Keras 2: its callbacks differ; names that grow in any of them grow here.
  for (const auto& [name, of] : testing::keras(2, "directions of names").items())
    (of.at("EarlyStopping") == "up" || of.at("ModelCheckpoint") == "up" ? up : down).push_back(name);
  CHECK(up.size() + down.size() > 50);
  for (const std::string& name : up) {
    INFO(name);
    CHECK(Scripted().fit({.monitor = name}, {3, 2, 1}) == up_to(1));
  }
  for (const std::string& name : down) {
    INFO(name);
    CHECK(Scripted().fit({.monitor = name}, {3, 2, 1}) == up_to(2));
  }
}

TEST_CASE("monitor: a metric function and add_metric are monitored by name; an explicit direction wins",
          "[callbacks]") {
  const auto epochs = [](const MetricPtr& metric, const std::string& monitor) {
    Sequential model(two_dense());
    model.compile({.optimizer = optimizers::sgd({.learning_rate = 0}), .loss = "mse", .metrics = {metric}});
    const auto stopping = callbacks::early_stopping({.monitor = monitor, .baseline = 0});
    model.fit(x, y, {.epochs = 1, .verbose = 0, .callbacks = {stopping}});
    return stopping->best().value();
  };
  const auto one = [](Value t, Value) { return t * 0 + 1; };
  CHECK(epochs(metrics::from_function(one, "f1_score"), "f1_score") == 1);
  CHECK(epochs(metrics::from_function(one, "nobody_knows", Direction::up), "nobody_knows") == 1);
  CHECK_THAT(error_of([&] { epochs(metrics::from_function(one, "nobody_knows"), "nobody_knows"); }),
             ContainsSubstring("[EarlyStopping] monitor = \"nobody_knows\"") &&
                 ContainsSubstring("expected one of: loss, nobody_knows"));
}

TEST_CASE("monitor: a name without a log is an error, even a well-known one (C-1)", "[callbacks]") {
  Sequential model(two_dense());
  model.compile(mse());
  const auto stopping = callbacks::early_stopping({.monitor = "val_f1_score"});
  CHECK_THAT(error_of([&] { model.fit(x, y, {.verbose = 0, .callbacks = {stopping}}); }),
             ContainsSubstring("monitor = \"val_f1_score\"") && ContainsSubstring("expected one of: loss"));
}

}  // namespace etude
