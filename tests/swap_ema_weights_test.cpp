#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "interrupted_runs.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("swap EMA weights: evaluation uses the averages, training continues with the weights", "[callbacks]") {
  Script script{.optimizer = "ema", .epochs = 3};
  const Outcome plain = script.run();
  class Watch : public Callback {
   public:
    std::vector<std::vector<double>> in_test, in_training;
    void on_test_batch_end(std::int64_t, Logs&) override { in_test.push_back(weights_of(model())); }
    void on_train_batch_end(std::int64_t step, Logs&) override {
      if (step == 5) in_training.push_back(weights_of(model()));
    }
  };
  const auto watch = std::make_shared<Watch>();
  script.further = {callbacks::swap_ema_weights(), watch};
  const Outcome swapped = script.run();
  REQUIRE(watch->in_training.size() == 3);
  REQUIRE(watch->in_test.size() == 6);  // two batches each
  for (std::size_t i = 0; i < 3; ++i) CHECK(watch->in_test[2 * i] != watch->in_training[i]);
  // Training is the same; the validation differs.
  CHECK(swapped.history.front() == plain.history.front());
  CHECK(swapped.history != plain.history);
}

TEST_CASE("swap EMA weights: with swap_on_epoch later callbacks get the averages at the epoch's end", "[callbacks]") {
  const Tensor x = waves({16, 3}), y = signs_of(x);
  Sequential model(two_dense());
  model.compile(
      {.optimizer = optimizers::sgd({.learning_rate = 0.5, .use_ema = true, .ema_momentum = 0.5}), .loss = "mse"});
  std::vector<double> at_end;
  const auto look = std::make_shared<Meddler>();
  look->after_epoch = [&](Model& trained, int) { at_end = weights_of(trained); };
  std::vector<double> averages;
  const auto note = after_step([&](Model& trained, std::int64_t) {
    averages.clear();
    const std::vector<Variable> kept = trained.optimizer().slots().front();
    for (const Variable& average : kept)
      for (const double number : numbers(average.value())) averages.push_back(number);
  });
  model.fit(x, y,
            {.batch_size = 4,
             .epochs = 2,
             .verbose = 0,
             .callbacks = {note, callbacks::swap_ema_weights({.swap_on_epoch = true}), look}});
  CHECK(at_end == averages);
  CHECK(weights_of(model) == averages);
}

TEST_CASE("swap EMA weights: separate evaluate and predict use the averages, then restore the weights", "[callbacks]") {
  const Tensor x = filled({4, 2}, 1), y = filled({4, 1}, 0);
  Sequential model(summing_unit());
  model.compile(
      {.optimizer = optimizers::sgd({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.5}), .loss = "mse"});
  for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
  const std::vector<double> trained = weights_of(model);
  double average = 0;
  for (const double number : numbers(model.optimizer().slots().front().front().value())) average += number;
  const auto swap = callbacks::swap_ema_weights();
  CHECK(model.predict(x, {.verbose = 0, .callbacks = {swap}}).at(0) ==
        static_cast<double>(static_cast<float>(average)));
  CHECK(weights_of(model) == trained);
  const Logs logs = model.evaluate(x, y, {.verbose = 0, .callbacks = {swap}});
  CHECK(std::abs(logs["loss"] - average * average) < 1e-6);
  CHECK(weights_of(model) == trained);
}

TEST_CASE("swap EMA weights: an exception in a validation or in evaluate leaves the weights, not the averages",
          "[callbacks]") {
  const Tensor x = waves({16, 3}), y = signs_of(x);
  Sequential model(two_dense());
  model.compile(
      {.optimizer = optimizers::sgd({.learning_rate = 0.5, .use_ema = true, .ema_momentum = 0.5}), .loss = "mse"});
  std::vector<double> trained;
  const auto note = after_step([&](Model& of, std::int64_t) { trained = weights_of(of); });
  const auto fail = callbacks::lambda({.on_test_batch_end = [](std::int64_t, Logs&) { throw Interruption{}; }});
  const auto swap = callbacks::swap_ema_weights();
  CHECK_THROWS_AS(
      model.fit(x, y, {.epochs = 1, .verbose = 0, .callbacks = {note, swap, fail}, .validation_data = Data(x, y)}),
      Interruption);
  CHECK(weights_of(model) == trained);
  CHECK_THROWS_AS(model.evaluate(x, y, {.verbose = 0, .callbacks = {swap, fail}}), Interruption);
  const auto first = callbacks::lambda({.on_train_begin = [&](Logs&) { CHECK(weights_of(model) == trained); }});
  model.fit(x, y, {.epochs = 1, .verbose = 0, .callbacks = {swap, first}});
}

TEST_CASE("swap EMA weights: the averages are those of the variables that compile made trainable (L-28)",
          "[callbacks]") {
  const Tensor x = waves({16, 3}), y = signs_of(x);
  const auto trained = [&](bool frozen_later) {
    const auto layers = two_dense();
    Sequential model(layers);
    model.compile(
        {.optimizer = optimizers::sgd({.learning_rate = 0.5, .use_ema = true, .ema_momentum = 0.5}), .loss = "mse"});
    if (frozen_later) layers.front()->set_trainable(false);
    const auto history = model.fit(
        x, y, {.epochs = 2, .verbose = 0, .callbacks = {callbacks::swap_ema_weights()}, .validation_data = Data(x, y)});
    return std::pair(weights_of(model), history->history());
  };
  CHECK(trained(true) == trained(false));
}

TEST_CASE("swap EMA weights: an optimizer without averages is an error", "[callbacks]") {
  Sequential model(summing_unit());
  model.compile(mse());
  const Tensor x = waves({4, 2});
  CHECK_THAT(
      error_of([&] { model.evaluate(x, signs_of(x), {.verbose = 0, .callbacks = {callbacks::swap_ema_weights()}}); }),
      ContainsSubstring("keeps no averages"));
}

TEST_CASE("swap EMA weights: a backup contains the weights while the model has the averages", "[callbacks]") {
  Script script{.optimizer = "ema"};
  const auto swap = [&](Script& of) {
    of.further = {callbacks::swap_ema_weights({.swap_on_epoch = true})};
    return of;
  };
  const Outcome whole = swap(script).run();
  for (const SaveFrequency save_freq : {SaveFrequency("epoch"), SaveFrequency(2)})
    for (int hook = 15; hook < whole.hooks; hook += 7) {
      Backup backup;
      script.backup = backup.options(save_freq);
      CHECK_THROWS_AS(swap(script).run(hook), Interruption);
      CHECK(swap(script).run() == whole);
    }
}

}  // namespace etude
