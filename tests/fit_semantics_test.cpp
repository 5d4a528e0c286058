#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "training_samples.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;

const Tensor x = waves({10, 3}), y = signs_of(x);

/// Fits a new small model on 10 rows in batches of 4, and returns the record of its callbacks.
struct Run {
  Sequential model{two_dense()};
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  HistoryPtr history;

  explicit Run(FitOptions options, CompileOptions how = mse(), const Data& data = Data(x, y)) {
    model.compile(std::move(how));
    if (data.is_arrays() && !options.batch_size) options.batch_size = 4;
    options.verbose = 0;
    options.callbacks.insert(options.callbacks.begin(), recorder);
    history = model.fit(data, options);
  }

  /// The loss of another model with the same weights.
  double loss_of(const Tensor& rows, const Tensor& targets) const {
    Sequential same(two_dense());
    same.compile(mse());
    same.build({-1, 3});
    same.set_weights(model.get_weights());
    return same.evaluate(rows, targets, {.batch_size = 5, .verbose = 0})["loss"];
  }
};

}  // namespace

TEST_CASE("fit: hooks run in Keras's order, with the logs of their moment (L-3, L-4, L-5)", "[fit]") {
  const Run run({.epochs = 1, .validation_data = Data(x, y)});
  CHECK(run.recorder->events ==
        Texts{"train_begin", "epoch_begin 0", "batch_begin 0", "batch_end 0: loss", "batch_begin 1",
              "batch_end 1: loss", "batch_begin 2", "batch_end 2: loss", "test_begin", "test_batch_begin 0",
              "test_batch_end 0: loss", "test_batch_begin 1", "test_batch_end 1: loss", "test_batch_begin 2",
              "test_batch_end 2: loss", "test_end: loss", "epoch_end 0: loss,val_loss", "train_end: loss,val_loss"});
}

TEST_CASE("fit: give_turn is called after each execution and after each epoch", "[fit]") {
  std::string turns;
  const auto give_turn = [&](bool epoch_over) -> PendingPtr {
    turns += epoch_over ? '|' : '.';
    return nullptr;
  };
  const Run run({.epochs = 2,
                 .validation_data = Data(x, y),
                 .validation_steps = 2,
                 .validation_freq = 2,
                 .give_turn = give_turn});
  CHECK(turns == "...|.....|");
}

TEST_CASE("fit: the batch size is 32 by default, and ceil(samples / steps) where steps are given (L-1)", "[fit]") {
  const Tensor rows = waves({70, 3}), targets = signs_of(rows);
  const auto steps = [&](FitOptions options) {
    Sequential model(two_dense());
    model.compile(mse());
    auto recorder = std::make_shared<Recorder>();
    options.verbose = 0;
    options.callbacks = {recorder};
    model.fit(rows, targets, options);
    return recorder->starting_with("batch_begin").size();
  };
  CHECK(steps({}) == 3);
  CHECK(steps({.steps_per_epoch = 7}) == 7);
  CHECK(steps({.batch_size = 100}) == 1);
}

TEST_CASE("fit: the partial last batch is trained on, by a separate plan (L-2)", "[fit]") {
  const Run run({.epochs = 3});
  CHECK(run.recorder->starting_with("batch_end").size() == 9);
  CHECK(run.model.optimizer().iterations() == 9);
}

TEST_CASE("fit: epochs is the index of the final epoch (L-6)", "[fit]") {
  CHECK(Run({.epochs = 2, .initial_epoch = 1}).history->epoch() == std::vector{1});
  const Run none({.epochs = 2, .initial_epoch = 2});
  CHECK(none.history->epoch().empty());
  CHECK(none.recorder->events == Texts{"train_begin", "train_end"});
}

TEST_CASE("fit: validation_split takes the last samples, before shuffling (L-7)", "[fit]") {
  Sequential split(two_dense()), given(two_dense());
  for (Sequential* model : {&split, &given}) model->compile(mse());
  const auto a = split.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .validation_split = 0.3});
  const auto b =
      given.fit(x.rows(0, 7), y.rows(0, 7),
                {.batch_size = 4, .epochs = 3, .verbose = 0, .validation_data = Data(x.rows(7, 10), y.rows(7, 10))});
  CHECK((*a)["val_loss"] == (*b)["val_loss"]);
  CHECK(weights_of(split) == weights_of(given));
}

TEST_CASE("fit: validation_data takes precedence over validation_split (L-9)", "[fit]") {
  const Run both({.epochs = 2, .validation_split = 0.3, .validation_data = Data(x, y)}),
      data({.epochs = 2, .validation_data = Data(x, y)});
  CHECK((*both.history)["val_loss"] == (*data.history)["val_loss"]);
  CHECK(weights_of(both.model) == weights_of(data.model));
}

TEST_CASE("fit: validation_freq is a number of epochs or a list counted from 1 (L-10)", "[fit]") {
  const auto [frequency, expected] = GENERATE(
      table<ValidationFrequency, std::size_t>({{1, 5u}, {2, 2u}, {std::vector{1, 5}, 2u}, {std::vector{9}, 0u}}));
  const Run run({.epochs = 5, .validation_data = Data(x, y), .validation_freq = frequency});
  CHECK((*run.history)["loss"].size() == 5);
  CHECK((run.history->contains("val_loss") ? (*run.history)["val_loss"].size() : 0) == expected);
  CHECK(run.recorder->starting_with("test_begin").size() == expected);
}

TEST_CASE("fit: an epoch without validation has no val_ logs, not those of the one before (L-10)", "[fit]") {
  const Run run({.epochs = 3, .validation_data = Data(x, y), .validation_freq = 2});
  CHECK(run.recorder->starting_with("epoch_end") ==
        Texts{"epoch_end 0: loss", "epoch_end 1: loss,val_loss", "epoch_end 2: loss"});
  CHECK(run.recorder->events.back() == "train_end: loss");
}

TEST_CASE("fit: validation has its own batch size, else fit's (L-11)", "[fit]") {
  CHECK(Run({.validation_data = Data(x, y)}).recorder->starting_with("test_batch_begin").size() == 3);
  CHECK(Run({.validation_data = Data(x, y), .validation_batch_size = 5})
            .recorder->starting_with("test_batch_begin")
            .size() == 2);
  CHECK(
      Run({.validation_data = Data(x, y), .validation_steps = 2}).recorder->starting_with("test_batch_begin").size() ==
      2);
}

TEST_CASE("fit: validation neither shuffles nor uses class_weight (L-11)", "[fit]") {
  const Tensor first = x.rows(0, 5), targets = y.rows(0, 5);
  REQUIRE(*std::ranges::max_element(targets.data<float>()) == 1);
  const Run run({.epochs = 1,
                 .validation_data = Data(x, y),
                 .class_weight = {{0, 1}, {1, 10}},
                 .validation_steps = 1,
                 .validation_batch_size = 5});
  CHECK((*run.history)["val_loss"][0] == run.loss_of(first, targets));
}

TEST_CASE("fit: validation runs without updates and after the epoch's (L-22)", "[fit]") {
  const Run run({.epochs = 1, .validation_data = Data(x, y)});
  CHECK_THAT(run.loss_of(x, y), WithinAbs((*run.history)["val_loss"][0], 1e-6));
}

TEST_CASE("fit: executions of N steps end at the true last step (L-12, L-13)", "[fit]") {
  const Tensor rows = waves({7, 3}), targets = signs_of(rows);
  const auto seen = [&](std::int64_t n) {
    CompileOptions how = mse();
    how.steps_per_execution = n;
    const Run run({.batch_size = 1}, how, Data(rows, targets));
    return run.recorder->starting_with("batch_");
  };
  CHECK(seen(3) == Texts{"batch_begin 0", "batch_end 2: loss", "batch_begin 3", "batch_end 5: loss", "batch_begin 6",
                         "batch_end 6: loss"});
  CHECK(seen(100) == Texts{"batch_begin 0", "batch_end 6: loss"});
}

TEST_CASE("fit: weights and history are the same for any steps_per_execution (L-14)", "[fit]") {
  const auto fit = [](std::int64_t n) {
    CompileOptions how = mse();
    how.steps_per_execution = n;
    how.metrics = {"accuracy"};
    return Run({.batch_size = 3, .epochs = 3, .validation_split = 0.3}, how);
  };
  const Run one = fit(1), many = fit(GENERATE(2, 3, 50));
  CHECK(weights_of(one.model) == weights_of(many.model));
  CHECK(one.history->history() == many.history->history());
}

TEST_CASE("fit: batch callbacks get the logs of the last step of their execution (L-14)", "[fit]") {
  std::vector<double> each, last;
  const auto fit = [](std::int64_t n, std::vector<double>& losses) {
    CompileOptions how = mse();
    how.steps_per_execution = n;
    Run({.batch_size = 1,
         .callbacks = {callbacks::lambda(
             {.on_train_batch_end = [&](std::int64_t, Logs& logs) { losses.push_back(logs["loss"]); }})}},
        how);
  };
  fit(1, each);
  fit(4, last);
  CHECK(last == std::vector{each[3], each[7], each[9]});
}

TEST_CASE("fit: run_eagerly gives the same weights and history", "[fit]") {
  CompileOptions how = mse();
  how.metrics = {"accuracy"};
  const Run compiled({.epochs = 3, .validation_split = 0.2}, how);
  how.optimizer = optimizers::sgd({.learning_rate = 0.1});
  how.run_eagerly = true;
  const Run eager({.epochs = 3, .validation_split = 0.2}, how);
  const auto a = weights_of(compiled.model), b = weights_of(eager.model);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK_THAT(a[i], WithinAbs(b[i], 1e-6));
  for (const auto& [name, values] : compiled.history->history())
    for (std::size_t i = 0; i < values.size(); ++i) CHECK_THAT((*eager.history)[name][i], WithinAbs(values[i], 1e-6));
}

TEST_CASE("fit: jit_compile and use_multiprocessing change nothing", "[fit]") {
  const auto fit = [](JitCompile jit_compile, bool use_multiprocessing) {
    CompileOptions how = mse();
    how.jit_compile = jit_compile;
    return weights_of(Run({.use_multiprocessing = use_multiprocessing}, how).model);
  };
  const auto expected = weights_of(Run({}, mse()).model);
  CHECK(fit("auto", true) == expected);
  CHECK(fit(true, false) == expected);
  CHECK(fit(false, false) == expected);
}

TEST_CASE("fit: the epoch's loss weights batches by their samples (L-21)", "[fit]") {
  // A model that never learns: batches of 3, 3 and 2 rows have losses 1, 4 and 100.
  const Tensor targets = Tensor::from<float>({8, 1}, {1, 1, 1, 2, 2, 2, 10, 10});
  Sequential model({layers::dense({.units = 1, .kernel_initializer = "zeros", .trainable = false}),
                    layers::dense({.units = 1, .kernel_initializer = "zeros"})});
  model.compile(mse(0));
  const auto history = model.fit(filled({8, 1}, 1), targets, {.batch_size = 3, .verbose = 0, .shuffle = false});
  CHECK_THAT((*history)["loss"][0], WithinAbs((3 * 1 + 3 * 4 + 2 * 100) / 8.0, 1e-5));
}

TEST_CASE("fit: metrics use the predictions made before the batch's update (L-22)", "[fit]") {
  Sequential model(summing_unit());
  model.compile({.optimizer = optimizers::sgd({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mse"}});
  const Logs logs = model.train_on_batch(filled({5, 4}, 1), filled({5, 1}, 1));
  CHECK_THAT(logs["loss"], WithinAbs(9, 1e-5));
  CHECK_THAT(logs["mse"], WithinAbs(9, 1e-5));
}

TEST_CASE("fit: the order of logs is loss, metrics, weighted metrics, then val_* (L-24)", "[fit]") {
  CompileOptions how = mse();
  how.metrics = {"accuracy", "mse"};
  how.weighted_metrics = {"mse"};
  const Run run({.validation_split = 0.2}, how);
  CHECK(run.recorder->events.back() ==
        "train_end: loss,accuracy,mse,weighted_mse,val_loss,val_accuracy,val_mse,val_weighted_mse");
  CHECK(run.model.metrics_names() == Texts{"loss", "accuracy", "mse", "weighted_mse"});
  std::string names;
  for (const auto& [name, values] : run.history->history()) names += name + ' ';
  CHECK(names == "loss accuracy mse weighted_mse val_loss val_accuracy val_mse val_weighted_mse ");
}

TEST_CASE("fit: each epoch's shuffle depends on (seed, epoch), and there is one each epoch (L-31)", "[fit]") {
  // The loss of a batch of one row identifies the row, because nothing is learned.
  const auto order = [](std::uint64_t seed, ShuffleChoice shuffle, int first) {
    set_random_seed(seed);
    Sequential model(summing_unit());
    model.compile(mse(0));
    std::vector<double> rows;
    double before = 0;
    model.fit(Tensor::from<float>({6, 1}, {0, 1, 2, 3, 4, 5}), filled({6, 1}, 0),
              {.batch_size = 1,
               .epochs = 2,
               .verbose = 0,
               .callbacks = {callbacks::lambda({.on_train_batch_end =
                                                    [&](std::int64_t step, Logs& logs) {
                                                      const double sum = logs["loss"] * static_cast<double>(step + 1);
                                                      rows.push_back(
                                                          std::round(std::sqrt(std::abs(sum - (step ? before : 0)))));
                                                      before = sum;
                                                    }})},
               .shuffle = shuffle,
               .initial_epoch = first});
    return rows;
  };
  const auto rows = order(3, true, 0);
  const std::vector<double> in_order{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5};
  CHECK(order(3, false, 0) == in_order);
  CHECK(rows != in_order);
  CHECK(std::vector(rows.begin(), rows.begin() + 6) != std::vector(rows.begin() + 6, rows.end()));
  CHECK(order(3, true, 0) == rows);
  CHECK(order(4, true, 0) != rows);
  CHECK(order(3, true, 1) == std::vector(rows.begin() + 6, rows.end()));
}

}  // namespace etude
