#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "optimizer_samples.hpp"

// The options of every optimizer.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::Compiled;

const Tensor x = waves({8, 3}), y = signs_of(x);

}  // namespace

TEST_CASE("optimizers: weight decay is applied before the update, times the learning rate (O-4)", "[optimizers]") {
  Trained sgd(optimizers::sgd({.learning_rate = 0.5, .weight_decay = 0.1}));
  check_close(sgd.after({0.2F, 0.2F}), {0.95 - 0.1, -1.9 - 0.1});
  sgd.optimizer->set_learning_rate(0);
  check_close(sgd.after({1, 1}), {0.85, -2});
  Trained adamw(optimizers::adamw({.learning_rate = 0.5, .weight_decay = 0.1})),
      adam(optimizers::adam({.learning_rate = 0.5}));
  const auto plain = adam.after({3, 4});
  check_close(adamw.after({3, 4}), {plain[0] - 0.05, plain[1] + 0.1});
}

TEST_CASE("optimizers: variables are excluded from weight decay by object or by a pattern of names (O-15)",
          "[optimizers]") {
  const auto decayed = [](const Trained::Prepare& exclude) {
    Trained sgd(optimizers::sgd({.learning_rate = 1, .weight_decay = 0.5}), exclude);
    return sgd.after({0, 0})[0] == 0.5;
  };
  CHECK(decayed([](Optimizer&, const Variable&) {}));
  CHECK_FALSE(decayed([](Optimizer& of, const Variable& variable) { of.exclude_from_weight_decay({variable}); }));
  CHECK_FALSE(decayed([](Optimizer& of, const Variable&) { of.exclude_from_weight_decay({}, {"bias", "kernel$"}); }));
  CHECK_FALSE(decayed([](Optimizer& of, const Variable&) { of.exclude_from_weight_decay({}, {"e.*/k"}); }));
  CHECK(decayed([](Optimizer& of, const Variable&) { of.exclude_from_weight_decay({}, {"^kernel"}); }));
  CHECK(decayed([](Optimizer& of, const Variable& variable) {
    of.exclude_from_weight_decay({variable});
    of.exclude_from_weight_decay({});
  }));

  Trained late(optimizers::sgd({.weight_decay = 0.5}));
  CHECK(error_of([&] { late.optimizer->exclude_from_weight_decay({}, {"bias"}); }) ==
        "[SGD] exclude_from_weight_decay() after the first step - expected a call before the optimizer is built - call "
        "it as soon as the optimizer is created.");
  CHECK_THAT(error_of([&] { optimizers::sgd()->exclude_from_weight_decay({}, {"(bias"}); }),
             ContainsSubstring("[SGD] exclude_from_weight_decay of \"(bias\": ") &&
                 ContainsSubstring(" - expected a regular expression - check its brackets and backslashes."));
}

TEST_CASE("optimizers: clipping bounds each variable's gradient, its elements, or all gradients together (O-12)",
          "[optimizers]") {
  const auto clipped = [](const OptimizerPtr& optimizer, std::vector<std::vector<float>> gradients) {
    std::vector<double> result;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      std::vector<Tensor> given;
      for (const auto& gradient : gradients) given.push_back(Tensor::from<float>({2}, gradient));
      const Tensor one = testing::run_on(default_device(), given, [&](std::span<const Value> values) {
        return optimizer->clip_gradients({values.begin(), values.end()})[i];
      });
      for (const double number : numbers(one)) result.push_back(number);
    }
    return result;
  };
  check_close(clipped(optimizers::sgd({.clipnorm = 1}), {{3, 4}, {0.3F, 0.4F}, {0, 0}}), {0.6, 0.8, 0.3, 0.4, 0, 0});
  check_close(clipped(optimizers::sgd({.clipvalue = 0.5}), {{3, -4}, {0.3F, -0.4F}}), {0.5, -0.5, 0.3, -0.4});
  check_close(clipped(optimizers::sgd({.global_clipnorm = 6.5}), {{3, 4}, {0, 12}}), {1.5, 2, 0, 6});
  check_close(clipped(optimizers::sgd({.global_clipnorm = 20}), {{3, 4}, {0, 12}}), {3, 4, 0, 12});
  const float infinity = std::numeric_limits<float>::infinity();
  for (const double number : clipped(optimizers::sgd({.global_clipnorm = 1}), {{infinity, 0}, {1, 2}}))
    CHECK(std::isnan(number));
}

TEST_CASE("optimizers: the mean of accumulated gradients is clipped (O-12)", "[optimizers]") {
  Trained sgd(optimizers::sgd({.learning_rate = 1, .clipvalue = 1, .gradient_accumulation_steps = 2}));
  sgd.after({3, 6});
  check_close(sgd.after({-1, 0}), {1 - 1, -2 - 1});
}

TEST_CASE("optimizers: several calls are one update of the mean gradient, and in between nothing changes (O-14)",
          "[optimizers]") {
  const std::string name = GENERATE(from_range(optimizer_names));
  CAPTURE(name);
  const auto make = [&](std::int64_t steps) {
    return changed(name, [&](const std::string& field, auto& value) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<std::int64_t>>)
        if (field == "gradient_accumulation_steps" && steps > 1) value = steps;
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<double>>)
        if (field == "weight_decay") value = 0.1;
    });
  };
  Trained accumulated(make(3)), whole(make(1));
  for (int update = 0; update < 3; ++update) {
    const auto before = accumulated.now();
    CHECK(accumulated.after({1, -2}) == before);
    CHECK(accumulated.after({4, -1}) == before);
    CHECK(accumulated.optimizer->iterations() == update);
    check_close(accumulated.after({1, 9}), whole.after({2, 2}), 1e-6);
    CHECK(accumulated.now() != before);
    CHECK(accumulated.optimizer->iterations() == update + 1);
    // Slots too, except for the accumulated gradient, which is empty again.
    const auto kinds = accumulated.optimizer->slots(), expected = whole.optimizer->slots();
    CHECK(numbers(kinds[0][0].value()) == std::vector<double>{0, 0});
    for (std::size_t i = 0; i < expected.size(); ++i)
      check_close(numbers(kinds[i + 1][0].value()), numbers(expected[i][0].value()));
  }
  accumulated.after({7, 8});
  CHECK(numbers(accumulated.optimizer->slots()[0][0].value()) == std::vector<double>{7, 8});
}

TEST_CASE("optimizers: counts are exact beyond the digits of a float", "[optimizers]") {
  const std::int64_t begin = GENERATE(0, 16777215, 33554430, 999999999, 2147483000);
  Trained sgd(optimizers::sgd({.learning_rate = 1, .gradient_accumulation_steps = 7}));
  sgd.optimizer->variables()[0].fill(static_cast<double>(begin));
  for (std::int64_t call = begin + 1; call <= begin + 15; ++call) {
    const auto before = sgd.now();
    CHECK((sgd.after({1, 1}) != before) == (call % 7 == 0));
    CHECK(sgd.optimizer->iterations() == call / 7);
  }
}

TEST_CASE("optimizers: fit with accumulated gradients trains as with larger batches, traced once", "[optimizers]") {
  const auto train = [](std::int64_t batch_size, std::optional<std::int64_t> steps) {
    Sequential model(two_dense());
    model.compile(
        {.optimizer = optimizers::adam({.learning_rate = 0.01, .gradient_accumulation_steps = steps}), .loss = "mse"});
    model.fit(x, y, {.batch_size = batch_size, .epochs = 5, .verbose = 0, .shuffle = false});
    CHECK(model.make_train_function()->traces() == 1);
    CHECK(model.optimizer().iterations() == 5);
    return weights_of(model);
  };
  check_close(train(2, 4), train(8, {}), 1e-5);
}

TEST_CASE("optimizers: the moving average follows the variable, and replaces it on request (O-13)", "[optimizers]") {
  Trained sgd(optimizers::sgd({.learning_rate = 1, .use_ema = true, .ema_momentum = 0.5}));
  const auto average = [&] { return numbers(sgd.optimizer->slots()[0][0].value()); };
  CHECK(sgd.after({1, 1}) == std::vector<double>{0, -3});
  CHECK(average() == std::vector<double>{0, -3});
  CHECK(sgd.after({1, 1}) == std::vector<double>{-1, -4});
  CHECK(average() == std::vector<double>{-0.5, -3.5});
  sgd.optimizer->finalize_variable_values({Variable("another", Tensor({2}))});
  CHECK(sgd.now() == std::vector<double>{-1, -4});
  sgd.optimizer->finalize_variable_values({sgd.variable});
  CHECK(sgd.now() == std::vector<double>{-0.5, -3.5});

  Trained plain(optimizers::sgd({.learning_rate = 1}));
  plain.after({1, 1});
  plain.optimizer->finalize_variable_values({plain.variable});
  CHECK(plain.now() == std::vector<double>{0, -3});
}

TEST_CASE("optimizers: fit replaces weights by their averages after the last epoch and before on_train_end (O-13)",
          "[optimizers]") {
  const auto train = [](bool use_ema) {
    Sequential model(two_dense());
    model.compile(
        {.optimizer = optimizers::sgd({.learning_rate = 0.1, .use_ema = use_ema, .ema_momentum = 0.9}), .loss = "mse"});
    std::vector<std::vector<double>> seen;
    const auto look = callbacks::lambda({.on_epoch_end = [&](int, Logs&) { seen.push_back(weights_of(model)); },
                                         .on_train_end = [&](Logs&) { seen.push_back(weights_of(model)); }});
    model.fit(x, y, {.epochs = 3, .verbose = 0, .callbacks = {look}, .shuffle = false});
    CHECK(weights_of(model) == seen.back());
    model.fit(x, y, {.epochs = 0, .verbose = 0});
    CHECK(weights_of(model) == seen.back());
    return seen;
  };
  const auto plain = train(false), averaged = train(true);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) CHECK(averaged[epoch] == plain[epoch]);
  std::vector<double> expected = plain[0];
  for (std::size_t epoch = 1; epoch < 3; ++epoch)
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = 0.9 * expected[i] + 0.1 * plain[epoch][i];
  check_close(averaged[3], expected);
}

TEST_CASE("optimizers: a scaled loss trains as the loss itself; a loss that was not scaled is an error",
          "[optimizers]") {
  struct Scaled : Sequential {
    Scaled() : Sequential(two_dense()) {}
    StepLogs train_step(const StepData& data) override {
      const Value y_pred = (*this)(data.x[0], true), loss = compute_loss(data, y_pred);
      optimizer().apply(gradients(optimizer().scale_loss(loss), trainable_variables()), trainable_variables());
      return compute_metrics(data, y_pred, loss);
    }
  } model;
  Sequential plain(two_dense());
  const auto train = [](Sequential& of, std::optional<double> factor) {
    of.compile({.optimizer = optimizers::adam({.loss_scale_factor = factor}), .loss = "mse"});
    of.fit(x, y, {.epochs = 3, .verbose = 0});
    return weights_of(of);
  };
  check_close(train(model, 1024), train(plain, {}));

  Trained unscaled(optimizers::sgd());
  const Variable variable("v", Tensor({2}));
  const OptimizerPtr scaling = optimizers::sgd({.loss_scale_factor = 8});
  Graph graph;
  const Trace trace(graph);
  CHECK(error_of([&] { scaling->apply({graph.input({2}, DType::float32)}, {variable}); }) ==
        "[SGD] loss_scale_factor = 8 but a loss that was not scaled - expected gradients of optimizer.scale_loss(loss) "
        "- call it in train_step.");
}

TEST_CASE("optimizers: options out of range are errors with the full text", "[optimizers]") {
  struct Case {
    std::function<OptimizerPtr()> make;
    std::string text;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Case> cases{
      {[] { return optimizers::sgd({.weight_decay = -1}); },
       "[SGD] weight_decay = -1 - expected a finite number of 0 or more - set weight_decay."},
      {[] { return optimizers::adam({.clipnorm = 0}); },
       "[adam] clipnorm = 0 - expected a finite number above 0 - set clipnorm, or leave it out."},
      {[=] { return optimizers::adam({.clipvalue = nan}); },
       "[adam] clipvalue = nan - expected a finite number above 0 - set clipvalue, or leave it out."},
      {[] { return optimizers::lion({.clipnorm = 1, .global_clipnorm = 1}); },
       "[lion] 2 ways of clipping - expected one: only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set "
       "- omit the others."},
      {[] { return optimizers::sgd({.use_ema = true, .ema_momentum = 1.5}); },
       "[SGD] ema_momentum = 1.5 - expected a number from 0 to 1 - set ema_momentum."},
      {[] { return optimizers::sgd({.use_ema = true, .ema_overwrite_frequency = 0}); },
       "[SGD] ema_overwrite_frequency = 0 - expected 1 or more - set ema_overwrite_frequency, or leave it out."},
      {[] { return optimizers::sgd({.gradient_accumulation_steps = 1}); },
       "[SGD] gradient_accumulation_steps = 1 - expected 2 or more - set gradient_accumulation_steps, or leave it "
       "out."},
      {[] { return optimizers::sgd({.loss_scale_factor = -2}); },
       "[SGD] loss_scale_factor = -2 - expected a finite number above 0 - set loss_scale_factor, or leave it out."},
      {[] { return optimizers::adamw({.beta_2 = 2}); },
       "[adamw] beta_2 = 2 - expected a number from 0 to 1 - set beta_2."},
      {[=] { return optimizers::nadam({.epsilon = nan}); },
       "[nadam] epsilon = nan - expected a finite number of 0 or more - set epsilon."},
      {[] { return optimizers::adagrad({.initial_accumulator_value = -1}); },
       "[adagrad] initial_accumulator_value = -1 - expected a finite number of 0 or more - set "
       "initial_accumulator_value."},
      {[] { return optimizers::ftrl({.learning_rate_power = 0.5}); },
       "[ftrl] learning_rate_power = 0.5 - expected a finite number of 0 or less - set learning_rate_power."},
      {[] { return optimizers::lion({.beta_1 = 0}); },
       "[lion] beta_1 = 0 - expected a number above 0, because otherwise only the gradient's sign would count - set "
       "beta_1."},
      {[] { return optimizers::sgd({.learning_rate = LearningRateSchedulePtr()}); },
       "[learning_rate] an empty schedule - expected a number or a schedule - create one by schedules::…."},
  };
  for (const Case& test : cases) CHECK(error_of(test.make) == test.text);
}

}  // namespace etude
