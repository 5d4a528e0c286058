#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <sstream>

#include "etude/graph/detail/node.hpp"
#include "optimizer_samples.hpp"

// Optimizers: tests that the cases of other libraries do not cover.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using testing::Compiled;

const Tensor x = waves({8, 3}), y = signs_of(x);

}  // namespace

TEST_CASE("optimizers: each reduces the loss, under each of its names", "[optimizers]") {
  const std::string name = GENERATE(from_range(optimizer_names));
  CAPTURE(name);
  const OptimizerPtr optimizer = changed(name, [](const std::string& field, auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, LearningRate>)
      if (field == "learning_rate") value = 0.01;
  });
  CHECK_THAT(optimizer->learning_rate(), WithinAbs(0.01, 1e-8));
  const OptimizerPtr found = optimizers::get(name);
  const Optimizer &by_name = *found, &made = *optimizer;
  CHECK(typeid(by_name) == typeid(made));
  Sequential model(two_dense());
  model.compile({.optimizer = optimizer, .loss = "mse"});
  const auto losses = (*model.fit(x, y, {.epochs = 40, .verbose = 0}))["loss"];
  CHECK(losses.back() < losses.front());
  CHECK(optimizer->iterations() == 40);
}

TEST_CASE("optimizers: a learning rate set between steps applies to the next one, without a trace", "[optimizers]") {
  const std::string name = GENERATE(from_range(optimizer_names));
  CAPTURE(name);
  const auto change = [&](double rate, bool from_the_start) {
    const OptimizerPtr optimizer = optimizers::get(name);
    if (from_the_start) optimizer->set_learning_rate(rate);
    Sequential model(two_dense());
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.build({-1, 3});
    const auto before = weights_of(model);
    if (!from_the_start) optimizer->set_learning_rate(rate);
    model.train_on_batch(x, y);
    auto after = weights_of(model);
    for (std::size_t i = 0; i < after.size(); ++i) after[i] -= before[i];
    optimizer->set_learning_rate(0.25);
    CHECK(optimizer->learning_rate() == 0.25);
    model.train_on_batch(x, y);
    CHECK(model.make_train_function()->traces() == 1);
    return after;
  };
  const auto small = change(0.001, false), large = change(0.01, false);
  CHECK(change(0.01, true) == large);
  if (name == "ftrl" || name == "adamw") return;  // their steps are not proportional to the rate
  for (std::size_t i = 0; i < small.size(); ++i) CHECK_THAT(large[i], WithinAbs(10 * small[i], 1e-6));
}

TEST_CASE("optimizers: variables are listed by kind, after iterations and learning rate (O-21)", "[optimizers]") {
  const OptimizerPtr adam = optimizers::adam({.amsgrad = true});
  adam->build({Variable("a", Tensor({2})), Variable("b", Tensor({3}))});
  adam->build({Variable("c", Tensor({4}))});
  Texts all;
  for (const Variable& variable : adam->variables()) all.push_back(variable.name());
  CHECK(all == Texts{"adam/iterations", "adam/learning_rate", "adam/a_momentum", "adam/b_momentum", "adam/c_momentum",
                     "adam/a_velocity", "adam/b_velocity", "adam/c_velocity", "adam/a_velocity_hat",
                     "adam/b_velocity_hat", "adam/c_velocity_hat"});
}

TEST_CASE("optimizers: averages and accumulated gradients are listed before their slots, common variables last (O-21)",
          "[optimizers]") {
  const OptimizerPtr nadam = optimizers::nadam(
      {.learning_rate = schedules::exponential_decay({.initial_learning_rate = 1, .decay_steps = 1, .decay_rate = 1}),
       .use_ema = true,
       .gradient_accumulation_steps = 2});
  nadam->build({Variable("a", Tensor({2}))});
  Texts all;
  for (const Variable& variable : nadam->variables()) all.push_back(variable.name());
  CHECK(all == Texts{"nadam/iterations", "nadam/a_average", "nadam/a_gradient_accumulator", "nadam/a_momentum",
                     "nadam/a_velocity", "nadam/u_product"});
}

TEST_CASE("optimizers: Adam's first step is the learning rate, to float32's last digits (O-3)", "[optimizers]") {
  // For any gradient: alpha m / sqrt(v) is lr g / |g|, where 1 - beta^t cancels.
  const OptimizerPtr adam = optimizers::adam({.learning_rate = 0.5, .epsilon = 0});
  const Variable variable("v", Tensor({2}));
  const Tensor gradient = Tensor::from<float>({2}, {3, -0.01F});
  Compiled step(std::span(&gradient, 1), [&](Graph&, std::span<const Value> g) {
    adam->apply({g[0]}, {variable});
    return Compiled::Outcome{};
  });
  step.run({gradient});
  CHECK_THAT(variable.value().at(0), WithinAbs(-0.5, 2e-7));
  CHECK_THAT(variable.value().at(1), WithinAbs(0.5, 2e-7));
}

TEST_CASE("optimizers: centered RMSprop divides by the variance, plus epsilon, as Keras does", "[optimizers]") {
  const auto after = [](double rho, float gradient, int steps, double momentum) {
    Trained trained(optimizers::rmsprop({.learning_rate = 1, .rho = rho, .momentum = momentum, .centered = true}));
    for (int i = 0; i < steps; ++i) trained.after({gradient, 0});
    return trained.now().front();
  };
  // Keras 3.15.1 with JAX.
  CHECK_THAT(after(0, 3, 2, 0), WithinRel(-18972.666, 1e-5));
  CHECK_THAT(after(0.9, 0.5F, 20, 0), WithinRel(-47.016178, 1e-5));
  CHECK_THAT(after(0.9, 2, 20, 0), WithinRel(-47.016228, 1e-5));
  CHECK_THAT(after(0.9, 2, 20, 0.5), WithinRel(-89.164169, 1e-5));
}

TEST_CASE("optimizers: without further options a step traces its update and nothing else", "[optimizers]") {
  const Variable variable("v", Tensor({3}));
  const auto nodes = [&](const std::function<void(Graph&, Value)>& step) {
    Graph graph;
    const Trace trace(graph);
    step(graph, graph.input({3}, DType::float32));
    return graph.nodes().size();
  };
  const OptimizerPtr sgd = optimizers::sgd();
  const Variable rate = sgd->variables()[1], iterations = sgd->variables()[0];
  CHECK(nodes([&](Graph&, Value gradient) { sgd->apply({gradient}, {variable}); }) ==
        nodes([&](Graph& graph, Value gradient) {
          graph.assign(variable, graph.read(variable) - graph.read(rate) * gradient);
          graph.assign(iterations, graph.read(iterations) + 1);
        }));
}

TEST_CASE("optimizers: options of all optimizers and the update are fused into the products of the gradients",
          "[optimizers]") {
  const auto instructions = [](const OptimizerPtr& optimizer) {
    Sequential model(two_dense(4, 2));
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.fit(waves({8, 3}), waves({8, 2}), {.verbose = 0});
    // A line each, and one of sums. Instructions on single numbers are omitted: the learning rate and the counters.
    std::vector<std::string> names;
    std::istringstream lines(model.explain());
    for (std::string line; std::getline(lines, line);) {
      const std::size_t begin = line.find("  ");
      if (begin == line.npos || line.find("Elementwise 1:") != line.npos || line.find("Copy") != line.npos) continue;
      names.push_back(line.substr(begin, line.find_first_of(":,(") - begin));
    }
    return names;
  };
  const auto plain = instructions(optimizers::adam());
  const LearningRateSchedulePtr schedule = schedules::cosine_decay(
      {.initial_learning_rate = 0.1, .decay_steps = 100, .warmup_target = 1, .warmup_steps = 9});
  CHECK(instructions(optimizers::adam({.learning_rate = schedule})) == plain);
  CHECK(instructions(optimizers::adamw({.clipvalue = 1})) == plain);
  CHECK(instructions(optimizers::adam({.use_ema = true, .ema_overwrite_frequency = 5})) == plain);
  CHECK(instructions(optimizers::adam({.gradient_accumulation_steps = 4})) == plain);
  for (const char* name : {"adamax", "nadam", "adagrad", "rmsprop", "adadelta", "ftrl", "sgd"}) {
    CAPTURE(name);
    CHECK(instructions(optimizers::get(name)) == plain);
  }
}

}  // namespace etude
