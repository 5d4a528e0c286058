#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "optimizer_samples.hpp"

// Several optimizers as one.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::Compiled;

/// Variables of these names with the value 1, after a step with gradients of 1.
std::vector<double> after_step(const OptimizerPtr& optimizer, const Texts& names) {
  std::vector<Variable> variables;
  for (const std::string& name : names) variables.emplace_back(name, filled({}, 1));
  Compiled step(std::vector{filled({}, 1)}, [&](Graph&, std::span<const Value> x) {
    optimizer->apply(std::vector<Value>(names.size(), x[0]), variables);
    return Compiled::Outcome{};
  });
  step.run({filled({}, 1)});
  std::vector<double> result;
  for (const Variable& variable : variables) result.push_back(variable.value().item());
  return result;
}

OptimizerPtr sgd(double rate) { return optimizers::sgd({.learning_rate = rate}); }

}  // namespace

TEST_CASE("multi optimizer: a name, else a regular expression of the whole name, chooses the optimizer (O-23)",
          "[optimizers]") {
  const auto optimizer = optimizers::multi_optimizer(
      {.default_optimizer = sgd(0.125),
       .optimizer_map = {{"dense/.*", sgd(0.25)}, {"dense/bias", sgd(0.5)}, {"emb", sgd(1)}}});
  CHECK(after_step(optimizer, {"dense/kernel", "dense/bias", "embedding", "my_dense/kernel", "other"}) ==
        std::vector<double>{0.75, 0.5, 0.875, 0.875, 0.875});
  CHECK(optimizer->iterations() == 1);
}

TEST_CASE("multi optimizer: a name that two regular expressions match is an Error", "[optimizers]") {
  CHECK(error_of([] {
          after_step(optimizers::multi_optimizer(
                         {.default_optimizer = "sgd", .optimizer_map = {{"d.*", "adam"}, {"dense.*", "sgd"}}}),
                     {"dense/kernel"});
        }) ==
        "[multi_optimizer] optimizer_map: both \"d.*\" and \"dense.*\" match \"dense/kernel\" - expected at most "
        "one match - use other regular expressions.");
  CHECK_THAT(
      error_of([] { optimizers::multi_optimizer({.default_optimizer = "sgd", .optimizer_map = {{"(", "adam"}}}); }),
      ContainsSubstring("[multi_optimizer] optimizer_map of \"(\""));
}

TEST_CASE("multi optimizer: there is no common learning rate, and no optimizer of optimizers inside", "[optimizers]") {
  const auto optimizer = optimizers::multi_optimizer({.default_optimizer = "sgd"});
  const std::string text =
      "[multi_optimizer] learning_rate of several optimizers - expected one optimizer - use the learning rate of each.";
  CHECK(error_of([&] { optimizer->learning_rate(); }) == text);
  CHECK(error_of([&] { optimizer->set_learning_rate(1); }) == text);
  for (const OptimizerPtr& inner :
       {optimizer, OptimizerPtr(optimizers::loss_scale_optimizer({.inner_optimizer = "sgd"}))})
    CHECK_THAT(error_of([&] { optimizers::multi_optimizer({.default_optimizer = inner}); }),
               ContainsSubstring("a MultiOptimizer or LossScaleOptimizer, \"" + inner->name() + "\", inside"));
  CHECK(error_of([] { optimizers::multi_optimizer({}); }).starts_with("[MultiOptimizer] no default_optimizer - "));
}

TEST_CASE("multi optimizer: a model trains as with the optimizer of all its variables", "[optimizers]") {
  const auto train = [](const OptimizerPtr& optimizer) {
    Sequential model(two_dense());
    model.compile({.optimizer = optimizer, .loss = "mse"});
    const Tensor x = waves({8, 3});
    model.fit(x, signs_of(x), {.epochs = 3, .verbose = 0});
    return weights_of(model);
  };
  const auto adam = [] { return optimizers::adam({.learning_rate = 0.1, .weight_decay = 0.1, .use_ema = true}); };
  CHECK(train(optimizers::multi_optimizer({.default_optimizer = adam()})) == train(adam()));
  CHECK(train(optimizers::multi_optimizer({.default_optimizer = "sgd", .optimizer_map = {{".*", adam()}}})) ==
        train(adam()));
}

TEST_CASE("multi optimizer: its optimizers are listed once each, the default one last", "[optimizers]") {
  const OptimizerPtr first = sgd(1), second = sgd(0.5);
  CHECK(optimizers::inner_optimizers(*optimizers::multi_optimizer(
            {.default_optimizer = first, .optimizer_map = {{"a", second}}})) == std::vector{second.get(), first.get()});
  CHECK(optimizers::inner_optimizers(*optimizers::multi_optimizer(
            {.default_optimizer = first, .optimizer_map = {{"a", first}, {"b", second}, {"c", second}}})) ==
        std::vector{first.get(), second.get()});
  CHECK(optimizers::inner_optimizers(*first).empty());
}

TEST_CASE("multi optimizer: SwapEMAWeights needs averages of one optimizer only", "[optimizers]") {
  const auto averaging = optimizers::sgd({.learning_rate = 0.5, .use_ema = true, .ema_momentum = 0.5});
  const auto multi =
      optimizers::multi_optimizer({.default_optimizer = sgd(0.5), .optimizer_map = {{".*bias", averaging}}});
  CHECK(multi->use_ema());
  CHECK_FALSE(optimizers::multi_optimizer({.default_optimizer = sgd(0.5)})->use_ema());
  Sequential model(two_dense());
  model.compile({.optimizer = multi, .loss = "mse"});
  const Tensor x = waves({8, 3});
  std::vector<double> trained, tested;
  const auto watch = callbacks::lambda({.on_epoch_end = [&](int, Logs&) { trained = weights_of(model); },
                                        .on_test_batch_end = [&](std::int64_t, Logs&) { tested = weights_of(model); }});
  model.fit(x, signs_of(x),
            {.batch_size = 2,
             .verbose = 0,
             .callbacks = {callbacks::swap_ema_weights(), watch},
             .validation_data = Data(x, signs_of(x))});
  CHECK(tested != trained);
  const std::vector<Variable> variables = model.trainable_variables();
  std::size_t at = 0, swapped = 0;
  for (const Variable& variable : variables)
    for (std::int64_t i = 0; i < variable.shape().size(); ++i, ++at) {
      if (variable.name().ends_with("kernel")) CHECK(tested[at] == trained[at]);
      swapped += tested[at] != trained[at];
    }
  CHECK(swapped > 0);
}

TEST_CASE("multi optimizer: an infinite gradient skips the step of all variables", "[optimizers]") {
  const OptimizerPtr optimizer = optimizers::loss_scale_optimizer(
      {.inner_optimizer = optimizers::multi_optimizer({.default_optimizer = sgd(1), .optimizer_map = {{"b", sgd(1)}}}),
       .initial_scale = 1});
  const std::vector<Variable> variables{Variable("a", filled({}, 1)), Variable("b", filled({}, 1))};
  Compiled step(std::vector{filled({}, 1)}, [&](Graph& graph, std::span<const Value> x) {
    optimizer->scale_loss(graph.constant(1, DType::float32));
    optimizer->apply({x[0], x[0] * 0.0 + 1}, variables);
    return Compiled::Outcome{};
  });
  step.run({filled({}, std::numeric_limits<float>::infinity())});
  for (const Variable& variable : variables) CHECK(variable.value().item() == 1);
  step.run({filled({}, 1)});
  for (const Variable& variable : variables) CHECK(variable.value().item() == -1);
}

TEST_CASE("multi optimizer: a config has the present learning rates", "[optimizers][config]") {
  const OptimizerPtr inner = optimizers::adam();
  const auto optimizer = optimizers::multi_optimizer({.default_optimizer = "sgd", .optimizer_map = {{"a.*", inner}}});
  inner->set_learning_rate(0.25);
  const OptimizerPtr again = from_json<Optimizer>(to_json<Optimizer>(*optimizer));
  CHECK(to_json<Optimizer>(*again) == to_json<Optimizer>(*optimizer));
  CHECK_THAT(to_json<Optimizer>(*again), ContainsSubstring("\"learning_rate\":0.25"));
}

TEST_CASE("multi optimizer: its variables are its own counter, then those of each optimizer (O-21)", "[optimizers]") {
  const auto optimizer = optimizers::multi_optimizer(
      {.default_optimizer = optimizers::sgd({.momentum = 0.5}), .optimizer_map = {{"a", optimizers::adam()}}});
  optimizer->build({Variable("a", filled({}, 1)), Variable("b", filled({}, 1))});
  Texts all;
  for (const Variable& variable : optimizer->variables()) all.push_back(variable.name());
  CHECK(all == Texts{"multi_optimizer/iterations", "multi_optimizer/learning_rate", "SGD/iterations",
                     "SGD/learning_rate", "SGD/b_momentum", "adam/iterations", "adam/learning_rate", "adam/a_momentum",
                     "adam/a_velocity"});
}

}  // namespace etude
