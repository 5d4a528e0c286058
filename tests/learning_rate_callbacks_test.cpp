#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <catch2/matchers/catch_matchers_vector.hpp>
#include <limits>

#include "golden.hpp"
#include "training_samples.hpp"

// ReduceLROnPlateau, LearningRateScheduler and TerminateOnNaN: rules C-6, C-7, C-10.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::Approx;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

const Tensor x = waves({8, 3}), y = signs_of(x);
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Trained {
  Sequential model{two_dense()};
  Texts said, warned;
  TextSink print = [this](std::string_view text) { said.emplace_back(text); };
  TextSink warn = [this](std::string_view text) { warned.emplace_back(text); };

  explicit Trained(double learning_rate = 1) { model.compile(mse(learning_rate)); }

  HistoryPtr fit(std::vector<CallbackPtr> callbacks, int epochs, std::int64_t batch_size = 8) {
    return model.fit(x, y, {.batch_size = batch_size, .epochs = epochs, .verbose = 0, .callbacks = callbacks});
  }
  /// The learning rates in the logs of epochs that report these losses.
  std::vector<double> rates(const ReduceLROnPlateauOptions& options, std::vector<double> losses) {
    const auto script = callbacks::lambda(
        {.on_epoch_end = [&](int epoch, Logs& logs) { logs.set("loss", losses[static_cast<std::size_t>(epoch)]); }});
    return (*fit({script, callbacks::reduce_lr_on_plateau(options)}, static_cast<int>(losses.size())))["learning_rate"];
  }
};

}  // namespace

TEST_CASE("reduce lr: the rate is multiplied by the factor after `patience` epochs without improvement (C-6)",
          "[callbacks]") {
  // Logs contain the learning rate of the epoch.
  CHECK_THAT(Trained().rates({.monitor = "loss", .factor = 0.5, .patience = 2}, {3, 2, 2, 2, 2, 2, 1, 1}),
             Approx(std::vector<double>{1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25}));
}

TEST_CASE("reduce lr: a change of at most min_delta is no improvement (C-6)", "[callbacks]") {
  CHECK_THAT(Trained().rates({.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = 0.5}, {3, 2.5, 2.5, 2.4}),
             Approx(std::vector<double>{1, 1, 0.5, 0.25}));
}

TEST_CASE("reduce lr: epochs of cooldown do not count (C-6)", "[callbacks]") {
  CHECK_THAT(Trained().rates({.monitor = "loss", .factor = 0.5, .patience = 1, .cooldown = 2}, {1, 1, 1, 1, 1, 1}),
             Approx(std::vector<double>{1, 1, 0.5, 0.5, 0.25, 0.25}));
}

TEST_CASE("reduce lr: the rate stays at min_lr, without further messages (C-6)", "[callbacks]") {
  Trained run;
  const ReduceLROnPlateauOptions options{
      .monitor = "loss", .factor = 0.25, .patience = 1, .verbose = 1, .min_lr = 0.1, .print = run.print};
  CHECK_THAT(run.rates(options, {1, 1, 1, 1, 1}), Approx(std::vector<double>{1, 1, 0.25, 0.1, 0.1}));
  CHECK(run.said == Texts{"\nEpoch 2: ReduceLROnPlateau reducing learning rate to 0.25.",
                          "\nEpoch 3: ReduceLROnPlateau reducing learning rate to 0.1."});
}

TEST_CASE("reduce lr: the same object starts again in another fit", "[callbacks]") {
  Trained run;
  const auto callback =
      callbacks::reduce_lr_on_plateau({.monitor = "mine", .factor = 0.5, .patience = 2, .mode = "min"});
  const auto script = callbacks::lambda({.on_epoch_end = [&](int, Logs& logs) { logs.set("mine", 1); }});
  run.fit({script, callback}, 2);
  run.fit({script, callback}, 2);
  CHECK(run.model.optimizer().learning_rate() == 1);
  run.fit({script, callback}, 3);
  CHECK(run.model.optimizer().learning_rate() == 0.5);
}

TEST_CASE("reduce lr: a factor of 1 or more is an error, a missing monitor a warning (C-6)", "[callbacks]") {
  CHECK_THAT(error_of([] { callbacks::reduce_lr_on_plateau({.factor = 1}); }),
             ContainsSubstring("[ReduceLROnPlateau] factor = 1 - expected less than 1"));
  Trained run;
  const auto history = run.fit({callbacks::reduce_lr_on_plateau({.warn = run.warn})}, 1);
  CHECK(run.warned == Texts{"Learning rate reduction is conditioned on metric `val_loss` which is not available. "
                            "Available metrics are: loss,learning_rate"});
  CHECK((*history)["learning_rate"] == std::vector{1.0});
}

TEST_CASE("learning rate scheduler: sets the rate before each epoch, and logs it after (C-7)", "[callbacks]") {
  Trained run(0.8);
  std::vector<int> epochs;
  const auto scheduler = callbacks::learning_rate_scheduler({.schedule =
                                                                 [&](int epoch, double rate) {
                                                                   epochs.push_back(epoch);
                                                                   return rate / 2;
                                                                 },
                                                             .verbose = 1,
                                                             .print = run.print});
  std::vector<double> during;
  const auto watch = callbacks::lambda(
      {.on_train_batch_end = [&](std::int64_t, Logs&) { during.push_back(run.model.optimizer().learning_rate()); }});
  const auto history = run.fit({scheduler, watch}, 2);
  CHECK(epochs == std::vector{0, 1});
  CHECK_THAT(during, Approx(std::vector{0.4, 0.2}));
  CHECK((*history)["learning_rate"] == during);
  REQUIRE(run.said.size() == 2);
  CHECK_THAT(run.said[0], ContainsSubstring("\nEpoch 1: LearningRateScheduler setting learning rate to 0.4"));
}

TEST_CASE("learning rate callbacks: of a MultiOptimizer each optimizer has its own rate, log and message (C-6, C-7)",
          "[callbacks]") {
  // The numbers and messages are those of Keras 3.15.1, whose optimizers have these names.
  Trained run;
  const auto multi =
      optimizers::multi_optimizer({.default_optimizer = optimizers::sgd({.learning_rate = 0.5, .name = "sgd"}),
                                   .optimizer_map = {{".*bias", optimizers::adam({.learning_rate = 0.25})}}});
  run.model.compile({.optimizer = multi, .loss = "mse"});
  const auto script = callbacks::lambda({.on_epoch_end = [](int, Logs& logs) { logs.set("mine", 1); }});
  const auto reducing = run.fit({script, callbacks::reduce_lr_on_plateau({.monitor = "mine",
                                                                          .factor = 0.5,
                                                                          .patience = 1,
                                                                          .verbose = 1,
                                                                          .mode = "min",
                                                                          .min_lr = 0.2,
                                                                          .print = run.print})},
                                3);
  CHECK_THAT((*reducing)["learning_rate_adam"], Approx(std::vector{0.25, 0.25, 0.2}));
  CHECK_THAT((*reducing)["learning_rate_sgd"], Approx(std::vector{0.5, 0.5, 0.25}));
  CHECK(run.said == Texts{"\nEpoch 2: ReduceLROnPlateau reducing adam learning rate to 0.2.",
                          "\nEpoch 2: ReduceLROnPlateau reducing sgd learning rate to 0.25.",
                          "\nEpoch 3: ReduceLROnPlateau reducing sgd learning rate to 0.2."});
  run.said.clear();
  const auto scheduled =
      run.fit({callbacks::learning_rate_scheduler(
                  {.schedule = [](int, double rate) { return rate / 2; }, .verbose = 1, .print = run.print})},
              1);
  CHECK_THAT((*scheduled)["learning_rate_adam"], Approx(std::vector{0.1}));
  CHECK_THAT((*scheduled)["learning_rate_sgd"], Approx(std::vector{0.1}));
  CHECK(run.said == Texts{"\nEpoch 1: LearningRateScheduler setting adam learning rate to 0.10000000149011612.",
                          "\nEpoch 1: LearningRateScheduler setting sgd learning rate to 0.10000000149011612."});
}

TEST_CASE("learning rate callbacks: optimizers of one name are told apart by a number", "[callbacks]") {
  Trained run;
  run.model.compile({.optimizer = optimizers::multi_optimizer(
                         {.default_optimizer = optimizers::sgd({.learning_rate = 0.5}),
                          .optimizer_map = {{".*bias", optimizers::sgd({.learning_rate = 0.25})}}}),
                     .loss = "mse"});
  const auto history =
      run.fit({callbacks::learning_rate_scheduler({.schedule = [](int, double rate) { return rate; }})}, 1);
  CHECK((*history)["learning_rate_SGD"] == std::vector{0.25});
  CHECK((*history)["learning_rate_SGD_1"] == std::vector{0.5});
}

TEST_CASE(
    "learning rate scheduler: an invalid rate is the optimizer's error; a missing schedule is an error at once (C-7)",
    "[callbacks]") {
  Trained run;
  const auto scheduler = [](double rate) {
    return callbacks::learning_rate_scheduler({.schedule = [rate](int, double) { return rate; }});
  };
  CHECK_THAT(error_of([&] { run.fit({scheduler(-1)}, 1); }), StartsWith("[SGD] learning_rate = -1 "));
  CHECK_THAT(error_of([&] { run.fit({scheduler(std::numeric_limits<double>::quiet_NaN())}, 1); }),
             StartsWith("[SGD] learning_rate = nan "));
  CHECK_THAT(error_of([] { callbacks::learning_rate_scheduler({}); }),
             ContainsSubstring("[LearningRateScheduler] no schedule"));
}

TEST_CASE("terminate on nan: a loss that is not finite stops fit, and its epoch ends normally (C-10)", "[callbacks]") {
  const double loss = GENERATE(infinity, -infinity, std::numeric_limits<double>::quiet_NaN());
  CAPTURE(loss);
  Trained run;
  const auto spoil = callbacks::lambda(
      {.on_train_batch_end = [&](std::int64_t step, Logs& logs) { logs.set("loss", step == 1 ? loss : 1); }});
  const auto recorder = std::make_shared<Recorder>();
  const auto history = run.fit({spoil, callbacks::terminate_on_nan({.print = run.print}), recorder}, 5, 2);
  CHECK(run.said == Texts{"Batch 1: Invalid loss, terminating training"});
  CHECK(recorder->starting_with("batch_end") == Texts{"batch_end 0: loss", "batch_end 1: loss"});
  CHECK(recorder->events.back() == "train_end: loss");
  CHECK(history->epoch() == std::vector{0});
}

TEST_CASE("terminate on nan: weights that explode stop it", "[callbacks]") {
  Trained run(1e30);
  CHECK(run.fit({callbacks::terminate_on_nan({.print = run.print})}, 5, 2)->epoch().size() == 1);
  CHECK(run.said.size() == 1);
}

TEST_CASE("terminate on nan: with raise_error it throws; a finite loss does not stop it", "[callbacks]") {
  Trained run(1e30);
  CHECK_THAT(error_of([&] { run.fit({callbacks::terminate_on_nan({.raise_error = true})}, 5, 2); }),
             ContainsSubstring("[TerminateOnNaN] loss = ") && ContainsSubstring(" at batch "));
  CHECK(Trained(0.1).fit({callbacks::terminate_on_nan()}, 3)->epoch().size() == 3);
}

TEST_CASE("learning rate callbacks: setting the rate of an optimizer with a schedule is an error (O-17)",
          "[callbacks]") {
  // Keras 3 raises, at the first epoch's begin and at the first reduction; the message is shortened here.
  const auto fit = [](const CallbackPtr& callback) {
    Sequential model(two_dense());
    model.compile(
        {.optimizer = optimizers::sgd({.learning_rate = schedules::exponential_decay(
                                           {.initial_learning_rate = 0.1, .decay_steps = 1, .decay_rate = 0.9})}),
         .loss = "mse"});
    const auto recorder = std::make_shared<Recorder>();
    const std::string error =
        error_of([&] { model.fit(x, y, {.epochs = 4, .verbose = 0, .callbacks = {recorder, callback}}); });
    CHECK_THAT(error,
               ContainsSubstring("created with a `LearningRateSchedule`, hence its learning rate is not settable"));
    return recorder->events.back();
  };
  const nlohmann::json wanted = testing::keras(3, "rates of a schedule");
  const auto check_last = [&](const char* name, const CallbackPtr& callback) {
    CHECK(wanted.at(name).at("error").at("kind") == "TypeError");
    CHECK(fit(callback) == wanted.at(name).at("last_event").get<std::string>());
  };
  check_last("LearningRateScheduler",
             callbacks::learning_rate_scheduler({.schedule = [](int, double) { return 0.1; }}));
  check_last("ReduceLROnPlateau", callbacks::reduce_lr_on_plateau({.monitor = "loss", .patience = 1, .min_delta = 10}));
}

}  // namespace etude
