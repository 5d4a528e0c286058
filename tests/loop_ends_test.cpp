#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "data_samples.hpp"
#include "golden.hpp"
#include "interrupted_runs.hpp"
#include "training_samples.hpp"

// Loops whose data ends early, the outputs that predict passes to callbacks, and models that end within their loop.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({10, 3}), y = signs_of(x);

/// A fit of a small model, and the record of its callback.
struct Run {
  Sequential model{two_dense()};
  std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
  HistoryPtr history;

  Run(const Data& data, FitOptions options) {
    model.compile(mse());
    options.verbose = 0;
    options.callbacks.push_back(recorder);
    history = model.fit(data, options);
  }
  /// The number of calls of hooks whose names begin so.
  std::size_t count(const std::string& hook) const { return recorder->starting_with(hook).size(); }
};

/// [rows, 1], the output of a unit with the weight 1.
Sequential passing_on() { return Sequential(summing_unit()); }

}  // namespace

TEST_CASE("fit: validation data of a single pass is used until it is exhausted; later epochs have no val_*", "[fit]") {
  const nlohmann::json wanted = testing::keras(2, "validation data that comes once").at("exhausted");
  const auto hooks = [&](const std::string& start) {
    Texts found;
    for (const std::string event : wanted.at("events"))
      if (event.starts_with(start)) found.push_back(event);
    return found;
  };
  const Run run(Data(x, y), {.epochs = 4, .validation_data = Data(batches_of(x, y, 5, 2))});
  for (const auto& [name, values] : wanted.at("history").items()) CHECK((*run.history)[name].size() == values.size());
  for (const std::string hook : {"epoch_", "train_", "test_begin", "test_batch_end", "test_end"})
    CHECK(run.recorder->starting_with(hook) == hooks(hook));
  // Étude differs here: a step without a batch does not begin.
  CHECK(run.count("test_batch_begin") == 2);
}

TEST_CASE("fit: validation steps are limited to the remaining batches of data of a single pass", "[fit]") {
  const Run run(Data(x, y), {.epochs = 4, .validation_data = Data(batches_of(x, y, 5, 3)), .validation_steps = 2});
  // Étude differs here: Keras 2 loses the third batch, which it has prefetched in the first epoch.
  CHECK(testing::keras(2, "validation data that comes once").at("by steps").at("history").at("val_loss").size() == 1);
  CHECK((*run.history)["val_loss"].size() == 2);
  CHECK(run.count("test_batch_begin") == 3);
  CHECK(run.count("test_batch_end") == 3);
}

TEST_CASE("data handler: data that may be exhausted warns once, and then has no batch", "[data]") {
  int warnings = 0;
  DataHandler data(std::make_unique<GeneratorAdapter>(generator_of(5)),
                   {.steps_per_epoch = 2, .may_be_exhausted = true, .warn = [&](std::string_view) { ++warnings; }});
  for (const Indices& wanted : {Indices{0, 1}, Indices{2, 3}, Indices{4}, Indices{}, Indices{}}) {
    Record record;
    loop(data, record).get();
    CHECK(record.seen == wanted);
    CHECK(warnings == (wanted.size() < 2));
  }
}

TEST_CASE("fit: an epoch without batches ends with the logs of the last one, and ends training (L-15)", "[fit]") {
  const Run run(batches_of(x, y, 5, 6), {.epochs = 5, .validation_data = Data(x, y), .steps_per_epoch = 3});
  const nlohmann::json wanted = testing::keras(2, "an epoch without a batch");
  CHECK(run.history->epoch() == wanted.at("epoch").get<std::vector<int>>());
  // Étude differs here: these are the last epoch's logs. Keras 2 has a loss of 0, of reset metrics.
  CHECK(wanted.at("history").at("loss").at(2) == 0);
  for (const auto& [name, values] : run.history->history()) {
    INFO(name);
    REQUIRE(values.size() == 3);
    CHECK(values[2] == values[1]);
    CHECK(values[1] != values[0]);
  }
  Texts ends;
  for (const std::string event : wanted.at("events"))
    if (event.starts_with("epoch_end")) ends.push_back(event);
  CHECK(run.recorder->starting_with("epoch_end") == ends);
  CHECK(run.recorder->events.back() == wanted.at("events").back().get<std::string>());
  CHECK(run.count("epoch_begin") == 3);
  CHECK(run.model.optimizer().iterations() == wanted.at("iterations"));
}

TEST_CASE("loops: every begin hook has its end hook, at any end of the data", "[fit]") {
  const std::int64_t batches = GENERATE(1, 2, 3, 4, 6);
  const auto steps = GENERATE(as<std::optional<std::int64_t>>{}, std::nullopt, 1, 2, 3);
  const Run run(batches_of(x, y, 5, batches), {.epochs = 4,
                                               .validation_data = Data(batches_of(x, y, 5, 3)),
                                               .steps_per_epoch = steps,
                                               .validation_steps = steps});
  for (const std::string hook : {"epoch", "batch", "test", "test_batch", "train"}) {
    INFO(hook);
    CHECK(run.count(hook + "_begin") == run.count(hook + "_end"));
  }
  CHECK(run.count("batch_end") == static_cast<std::size_t>(std::min(batches, steps.value_or(batches) * 4)));
}

TEST_CASE("loops: if a sequence has fewer batches than steps, every step that begins also ends", "[fit]") {
  const Run run(std::make_shared<BatchesByNumber>(x, y), {.epochs = 2, .steps_per_epoch = 3});
  CHECK(run.recorder->starting_with("batch_") ==
        Texts{"batch_begin 0", "batch_end 0: loss", "batch_begin 1", "batch_end 1: loss"});
  CHECK(run.count("epoch_begin") == run.count("epoch_end"));
}

TEST_CASE("predict: on_predict_batch_end gets the outputs of its execution (C-13)", "[predict]") {
  const std::int64_t steps_per_execution = GENERATE(1, 2);
  const bool streamed = GENERATE(false, true);
  Sequential model = passing_on();
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = steps_per_execution});
  std::vector<std::vector<double>> seen;
  Logs kept;
  const auto look = callbacks::lambda({.on_predict_batch_end = [&](std::int64_t, Logs& logs) {
    REQUIRE(logs.has_outputs());
    std::vector<Tensor> outputs = logs.outputs();
    REQUIRE(outputs.size() == 1);
    CHECK(outputs[0].shape()[1] == 1);
    seen.push_back(numbers(outputs[0]));
    outputs[0].data<float>()[0] = 100;  // a copy: the result of predict does not change
    kept = logs;
  }});
  const Tensor rows = Tensor::from<float>({5, 1}, {0, 1, 2, 3, 4});
  const PredictOptions options{.batch_size = 2, .verbose = 0, .callbacks = {look}};
  std::vector<double> all;
  if (streamed) {
    for (const Tensor& batch : model.predict_stream(rows, options))
      for (const double number : numbers(batch)) all.push_back(number);
  } else {
    all = numbers(model.predict(rows, options));
  }
  CHECK(all == std::vector<double>{0, 1, 2, 3, 4});
  for (const int version : {2, 3})
    CHECK(seen == testing::keras(version, "outputs of executions")
                      .at(steps_per_execution == 1 ? "by 1" : "by 2")
                      .get<std::vector<std::vector<double>>>());
  CHECK_THAT(error_of([&] { kept.outputs(); }), ContainsSubstring("[Logs] outputs read after their hook"));
}

TEST_CASE("predict: several outputs are a list, and other hooks have none", "[predict]") {
  Functional model = one_and_two();
  std::vector<Shape> shapes;
  std::string error;
  model.predict_outputs(x, {.verbose = 0,
                            .callbacks = {callbacks::lambda(
                                {.on_predict_end = [&](Logs& logs) { error = error_of([&] { logs.outputs(); }); },
                                 .on_predict_batch_end =
                                     [&](std::int64_t, Logs& logs) {
                                       for (const Tensor& output : logs.outputs()) shapes.push_back(output.shape());
                                     }})}});
  CHECK(shapes == std::vector<Shape>{{10, 1}, {10, 2}});
  CHECK_THAT(error, ContainsSubstring("[Logs] outputs of a hook that has none"));
}

TEST_CASE("loops: a callback may drop the last reference to the model, whose loop still ends", "[fit]") {
  auto model = std::make_shared<Sequential>(two_dense());
  model->compile(mse());
  const std::weak_ptr<Sequential> watched = model;
  Model& running = *model;
  const int wanted = GENERATE(0, 1, 2, 3);
  const auto drop = [&](auto&&...) { model.reset(); };
  const CallbackPtr dropping =
      callbacks::lambda({.on_train_batch_end = drop, .on_test_end = drop, .on_predict_begin = drop});
  SECTION("fit") {
    const HistoryPtr history =
        running.fit(x, y, {.batch_size = 2, .epochs = 1 + wanted, .verbose = 0, .callbacks = {dropping}});
    CHECK((*history)["loss"].size() == static_cast<std::size_t>(1 + wanted));
  }
  SECTION("evaluate") { CHECK(running.evaluate(x, y, {.verbose = 0, .callbacks = {dropping}}).contains("loss")); }
  SECTION("predict") { CHECK(running.predict(x, {.verbose = 0, .callbacks = {dropping}}).shape() == Shape{10, 1}); }
  CHECK(watched.expired());
}

TEST_CASE("callbacks: a fit that a lock refuses has called no hook of a callback", "[callbacks]") {
  class Locked : public Callback {
   public:
    int released = 0;
    void acquire() override { fail(ErrorKind::state, "lock", "taken - expected it free - wait."); }
    void release() noexcept override { ++released; }
    bool runs_last() const override { return true; }
  };
  const auto locked = std::make_shared<Locked>();
  const auto recorder = std::make_shared<Recorder>();
  Sequential model(two_dense());
  model.compile(mse());
  CHECK_THAT(error_of([&] { model.fit(x, y, {.verbose = 0, .callbacks = {recorder, locked}}); }),
             ContainsSubstring("[lock] taken"));
  CHECK(recorder->events.empty());
  CHECK(locked->released == 1);
  model.fit(x, y, {.verbose = 0, .callbacks = {recorder}});
  CHECK(recorder->events.front() == "train_begin");
}

}  // namespace etude
