#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cctype>
#include <stdexcept>

#include "console_text.hpp"
#include "training_samples.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({10, 3}), y = signs_of(x);

/// A small model on 10 rows in 3 batches.
struct Trained {
  Sequential model{two_dense()};
  Trained() { model.compile({.optimizer = optimizers::sgd(), .loss = "mse", .metrics = {"accuracy"}}); }

  HistoryPtr fit(std::vector<CallbackPtr> callbacks, int epochs = 2) {
    return model.fit(x, y,
                     {.batch_size = 4,
                      .epochs = epochs,
                      .verbose = 0,
                      .callbacks = std::move(callbacks),
                      .validation_data = Data(x, y),
                      .shuffle = false});
  }
};

/// ProgbarLogger as fit creates it for `verbose`; its text is stored.
struct Bar : ProgbarLogger {
  int verbose;
  Bar(int v, std::string& text) : ProgbarLogger([&text](std::string_view part) { text += part; }), verbose(v) {}
  void set_params(const CallbackParams& params) override {
    CallbackParams shown = params;
    shown.verbose = verbose;
    ProgbarLogger::set_params(shown);
  }
};

/// The text without times, which differ from run to run.
std::string without_times(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c)) || result.empty() || result.back() != '#')
      result += std::isdigit(static_cast<unsigned char>(c)) ? '#' : c;
  return result;
}

}  // namespace

TEST_CASE("callbacks: evaluate and predict call their own hooks only", "[callbacks]") {
  Trained run;
  const auto recorder = std::make_shared<Recorder>();
  run.model.evaluate(x, y, {.batch_size = 6, .verbose = 0, .callbacks = {recorder}});
  CHECK(recorder->events == Texts{"test_begin", "test_batch_begin 0", "test_batch_end 0: loss,accuracy",
                                  "test_batch_begin 1", "test_batch_end 1: loss,accuracy", "test_end: loss,accuracy"});
  recorder->events.clear();
  run.model.predict(x, {.batch_size = 6, .verbose = 0, .callbacks = {recorder}});
  CHECK(recorder->events == Texts{"predict_begin", "predict_batch_begin 0", "predict_batch_end 0",
                                  "predict_batch_begin 1", "predict_batch_end 1", "predict_end"});
}

TEST_CASE("callbacks: each hook runs in the order of the list, followed by History (C-12)", "[callbacks]") {
  Texts order;
  const auto named = [&](const std::string& name) {
    return callbacks::lambda({.on_epoch_end = [&order, name](int, Logs& logs) {
      order.push_back(name + (logs.contains("noted") ? " sees it" : ""));
      logs.set("noted", 7);
    }});
  };
  Trained run;
  const auto history = run.fit({named("first"), named("second")}, 1);
  CHECK(order == Texts{"first", "second sees it"});
  CHECK((*history)["noted"] == std::vector{7.0});
}

TEST_CASE("callbacks: the progress bar of fit shows what the callbacks of the list write (C-12)", "[callbacks]") {
  const testing::ConsoleText output(Console::output);
  Trained run;
  run.model.fit(x, y,
                {.batch_size = 4,
                 .verbose = 2,
                 .callbacks = {callbacks::lambda({.on_epoch_end = [](int, Logs& logs) { logs.set("noted", 7); }})}});
  CHECK_THAT(output.text(), ContainsSubstring(" - noted: 7.0000"));
}

TEST_CASE("callbacks: entries that a hook without logs writes are discarded", "[callbacks]") {
  Trained run;
  const auto recorder = std::make_shared<Recorder>();
  run.fit(
      {callbacks::lambda({.on_train_batch_begin = [](std::int64_t, Logs& logs) { logs.set("mine", 1); }}), recorder},
      1);
  CHECK(recorder->events.front() == "train_begin");
  CHECK(recorder->starting_with("batch_begin") ==
        Texts{"batch_begin 0: mine", "batch_begin 1: mine", "batch_begin 2: mine"});
  CHECK(recorder->starting_with("batch_end 0") == Texts{"batch_end 0: loss,accuracy"});
}

TEST_CASE("callbacks: model() and params() are set", "[callbacks]") {
  struct Curious : Callback {
    Model* seen = nullptr;
    CallbackParams given;
    void on_train_begin(Logs&) override {
      seen = &model();
      given = params();
    }
  };
  const auto curious = std::make_shared<Curious>();
  Trained run;
  run.fit({curious}, 3);
  CHECK(curious->seen == &run.model);
  CHECK(curious->given.epochs == 3);
  CHECK(curious->given.steps == 3);
  CHECK(curious->given.verbose == 0);
  run.model.fit(x, y, {.epochs = 0, .callbacks = {curious}});
  CHECK(curious->given.verbose == 1);  // Keras's "auto"
}

TEST_CASE("callbacks: stop_training ends fit after this execution, its validation and its epoch's end (L-4)",
          "[callbacks]") {
  Trained run;
  const auto recorder = std::make_shared<Recorder>();
  const auto history =
      run.fit({callbacks::lambda({.on_train_batch_end = [&](std::int64_t, Logs&) { run.model.stop_training = true; }}),
               recorder});
  CHECK(recorder->starting_with("batch_end").size() == 1);
  CHECK(recorder->starting_with("test_batch_end").size() == 3);
  CHECK(recorder->events.back() == "train_end: loss,accuracy,val_loss,val_accuracy");
  CHECK(history->epoch() == std::vector{0});

  const auto two = run.fit(
      {callbacks::lambda({.on_epoch_end = [&](int epoch, Logs&) { run.model.stop_training = epoch == 1; }})}, 5);
  CHECK(two->epoch() == std::vector{0, 1});
  CHECK(run.fit({}, 2)->epoch() == std::vector{0, 1});  // each fit begins unstopped
}

TEST_CASE("callbacks: stop_evaluating and stop_predicting end their loops after this execution", "[callbacks]") {
  Trained run;
  const auto recorder = std::make_shared<Recorder>();
  const auto stop =
      callbacks::lambda({.on_test_batch_end = [&](std::int64_t step, Logs&) { run.model.stop_evaluating = step == 1; },
                         .on_predict_batch_end = [&](std::int64_t, Logs&) { run.model.stop_predicting = true; }});
  run.model.evaluate(x, y, {.batch_size = 2, .verbose = 0, .callbacks = {stop, recorder}});
  CHECK(recorder->starting_with("test_batch_end").size() == 2);
  CHECK(recorder->events.back() == "test_end: loss,accuracy");
  CHECK(run.model.predict(x, {.batch_size = 2, .verbose = 0, .callbacks = {stop}}).shape() == Shape{2, 1});
  CHECK(run.model.predict(x, {.batch_size = 2, .verbose = 0}).shape() == Shape{10, 1});
}

TEST_CASE("callbacks: logs are valid during their hook, and keep values that were read there", "[callbacks]") {
  Trained run;
  Logs* batch_logs = nullptr;
  Logs kept, unread;
  double loss = 0;
  run.fit({callbacks::lambda({.on_train_batch_end =
                                  [&](std::int64_t step, Logs& logs) {
                                    if (step == 0) {
                                      unread = logs;
                                      loss = logs["loss"];
                                      kept = logs;
                                    }
                                    batch_logs = &logs;
                                  }})},
          1);
  REQUIRE(batch_logs != nullptr);
  CHECK(kept["loss"] == loss);
  CHECK_THAT(error_of([&] { static_cast<void>(unread["loss"]); }),
             ContainsSubstring("[Logs] \"loss\" read after its step") && ContainsSubstring("inside the callback"));
  CHECK_THAT(error_of([&] { static_cast<void>(kept["los"]); }),
             ContainsSubstring("[Logs] \"los\" - expected one of: loss, accuracy"));
}

TEST_CASE("callbacks: an exception of any hook ends the loop, and the model trains on", "[callbacks]") {
  struct Mistake : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const auto oops = [](auto&&...) { throw Mistake("oops"); };
  struct Case {
    const char* hook;
    LambdaCallbackOptions throwing;
    /// The steps before the exception.
    std::int64_t steps;
  };
  const auto which = GENERATE_COPY(
      Case{"on_train_begin", {.on_train_begin = oops}, 0}, Case{"on_epoch_begin", {.on_epoch_begin = oops}, 0},
      Case{"on_train_batch_begin", {.on_train_batch_begin = oops}, 0},
      Case{"on_train_batch_end", {.on_train_batch_end = oops}, 1}, Case{"on_test_begin", {.on_test_begin = oops}, 3},
      Case{"on_test_batch_begin", {.on_test_batch_begin = oops}, 3},
      Case{"on_test_batch_end", {.on_test_batch_end = oops}, 3}, Case{"on_test_end", {.on_test_end = oops}, 3},
      Case{"on_epoch_end", {.on_epoch_end = oops}, 3}, Case{"on_train_end", {.on_train_end = oops}, 6});
  CAPTURE(which.hook);
  Trained run, usual;
  CHECK_THROWS_AS(run.fit({callbacks::lambda(which.throwing)}), Mistake);
  CHECK(run.model.optimizer().iterations() == which.steps);
  usual.model.build({-1, 3});
  for (std::int64_t step = 0; step < which.steps; ++step) {
    const std::int64_t begin = step % 3 * 4, end = std::min<std::int64_t>(begin + 4, 10);
    usual.model.train_on_batch(x.rows(begin, end), y.rows(begin, end));
  }
  CHECK(weights_of(run.model) == weights_of(usual.model));
  CHECK(run.fit({})->history() == usual.fit({})->history());
  CHECK(weights_of(run.model) == weights_of(usual.model));
}

TEST_CASE("callbacks: an exception in evaluate or predict leaves the model usable", "[callbacks]") {
  const auto oops = [](auto&&...) { throw 7; };
  Trained run;
  const auto loss = run.model.evaluate(x, y, {.verbose = 0})["loss"];
  const auto throwing = callbacks::lambda({.on_test_batch_end = oops, .on_predict_batch_end = oops});
  CHECK_THROWS_AS(run.model.evaluate(x, y, {.verbose = 0, .callbacks = {throwing}}), int);
  CHECK_THROWS_AS(run.model.predict(x, {.verbose = 0, .callbacks = {throwing}}), int);
  CHECK(run.model.evaluate(x, y, {.verbose = 0})["loss"] == loss);
  run.fit({});
}

TEST_CASE("callbacks: a hook may evaluate and predict without a change of the epoch's logs", "[callbacks]") {
  Trained nosy, usual;
  std::vector<double> evaluated;
  const auto history = nosy.fit({callbacks::lambda({.on_train_batch_end = [&](std::int64_t, Logs&) {
    evaluated.push_back(nosy.model.evaluate(x, y, {.batch_size = 3, .verbose = 0})["loss"]);
    nosy.model.predict(x, {.verbose = 0});
  }})});
  CHECK(evaluated.size() == 6);
  CHECK(history->history() == usual.fit({})->history());
  CHECK(weights_of(nosy.model) == weights_of(usual.model));
}

TEST_CASE("callbacks: a metric that cannot be reset fails an evaluate within fit, and the model stays usable",
          "[callbacks]") {
  struct Fails : Mean {
    using Mean::Mean;
    void reset_state() override {
      if (fails) throw 7;
      Mean::reset_state();
    }
    bool fails = false;
  };
  const auto metric = std::make_shared<Fails>("failing");
  Trained run;
  CompileOptions options = mse();
  options.metrics = {metric};
  run.model.compile(std::move(options));
  int attempts = 0;
  run.fit({callbacks::lambda({.on_epoch_end = [&](int, Logs&) {
    metric->fails = true;
    CHECK_THROWS_AS(run.model.evaluate(x, y, {.verbose = 0}), int);
    metric->fails = false;
    ++attempts;
  }})});
  CHECK(attempts == 2);
}

TEST_CASE("callbacks: a hook must not train, compile or change the model of the running loop", "[callbacks]") {
  Trained run;
  const auto attempt = [&](const std::function<void()>& action) {
    return error_of(
        [&] { run.fit({callbacks::lambda({.on_train_batch_end = [&](std::int64_t, Logs&) { action(); }})}); });
  };
  CHECK_THAT(attempt([&] { run.fit({}); }),
             ContainsSubstring("[fit] Cannot start because another fit() or evaluate()"));
  CHECK_THAT(attempt([&] { run.model.train_on_batch(x, y); }), ContainsSubstring("[train_on_batch] Cannot start"));
  CHECK_THAT(attempt([&] { run.model.compile(mse()); }), ContainsSubstring("compile() while a loop runs"));
  CHECK_THAT(attempt([&] { run.model.add(layers::dropout(0.5)); }), ContainsSubstring("add() while a loop runs"));
  run.fit({});
}

TEST_CASE("callbacks: LambdaCallback has a function for every hook", "[callbacks]") {
  Texts called;
  const auto plain = [&](const char* name) { return [&called, name](Logs&) { called.emplace_back(name); }; };
  const auto indexed = [&](const char* name) {
    return [&called, name](auto, Logs&) {
      if (called.empty() || called.back() != name) called.emplace_back(name);
    };
  };
  const auto all = callbacks::lambda({.on_epoch_begin = indexed("epoch_begin"),
                                      .on_epoch_end = indexed("epoch_end"),
                                      .on_train_begin = plain("train_begin"),
                                      .on_train_end = plain("train_end"),
                                      .on_train_batch_begin = indexed("batch_begin"),
                                      .on_train_batch_end = indexed("batch_end"),
                                      .on_test_begin = plain("test_begin"),
                                      .on_test_end = plain("test_end"),
                                      .on_test_batch_begin = indexed("test_batch_begin"),
                                      .on_test_batch_end = indexed("test_batch_end"),
                                      .on_predict_begin = plain("predict_begin"),
                                      .on_predict_end = plain("predict_end"),
                                      .on_predict_batch_begin = indexed("predict_batch_begin"),
                                      .on_predict_batch_end = indexed("predict_batch_end")});
  Trained run;
  run.model.fit(x, y, {.batch_size = 10, .verbose = 0, .callbacks = {all}, .validation_data = Data(x, y)});
  run.model.predict(x, {.verbose = 0, .callbacks = {all}});
  CHECK(called == Texts{"train_begin", "epoch_begin", "batch_begin", "batch_end", "test_begin", "test_batch_begin",
                        "test_batch_end", "test_end", "epoch_end", "train_end", "predict_begin", "predict_batch_begin",
                        "predict_batch_end", "predict_end"});
  run.fit({callbacks::lambda({})});
}

TEST_CASE("callbacks: each fit has its own History (L-30)", "[callbacks]") {
  Trained run;
  const auto first = run.fit({}, 3), second = run.fit({}, 1);
  CHECK(first->epoch() == std::vector{0, 1, 2});
  CHECK(second->epoch() == std::vector{0});
  CHECK((*first)["loss"].size() == 3);
  CHECK((*second)["val_accuracy"].size() == 1);
  CHECK(error_of([&] { (*first)["auc"]; }) ==
        "[History] \"auc\" - expected one of: loss, accuracy, val_loss, val_accuracy - check the metric's name.");
}

TEST_CASE("callbacks: ProgbarLogger is silent, draws a bar, or writes a line per epoch", "[callbacks]") {
  const auto text_of = [](int verbose, int epochs) {
    std::string text;
    Trained().fit({std::make_shared<Bar>(verbose, text)}, epochs);
    return text;
  };
  CHECK(text_of(0, 2).empty());
  const std::string logs = " - loss: #.# - accuracy: #.# - val_loss: #.# - val_accuracy: #.#\n";
  const std::string line = without_times(text_of(2, 1));
  CHECK(line.starts_with("#/# - #s - #"));
  CHECK(line.ends_with("s/step" + logs));
  const std::string bars = without_times(text_of(1, 2));
  CHECK(bars.starts_with("Epoch #/#\n#/# ━━━━━━━━━━━━━━━━━━━━ #s #"));
  CHECK(bars.ends_with("s/step" + logs));
  CHECK_FALSE(text_of(1, 1).starts_with("Epoch"));
}

TEST_CASE("callbacks: ProgbarLogger shows evaluate and predict, but no bar for validation within fit", "[callbacks]") {
  Trained run;
  std::string text;
  const auto bar = std::make_shared<Bar>(1, text);
  run.fit({bar}, 1);
  CHECK(std::ranges::count(text, '\n') == 1);
  text.clear();
  run.model.evaluate(x, y, {.verbose = 0, .callbacks = {bar}});
  CHECK_THAT(text, ContainsSubstring("1/1 ━━━━━━━━━━━━━━━━━━━━ ") && ContainsSubstring(" - loss: "));
  text.clear();
  run.model.predict(x, {.verbose = 0, .callbacks = {bar}});
  CHECK_THAT(text, ContainsSubstring("1/1 ━━━━━━━━━━━━━━━━━━━━ ") && !ContainsSubstring("loss"));
}

}  // namespace etude
