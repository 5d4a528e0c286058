#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <limits>

#include "etude/graph/detail/node.hpp"
#include "optimizer_samples.hpp"

// Learning rates as functions of the step: tests that the cases of other libraries do not cover.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

/// The rate in a step, in float32.
double traced(const LearningRateSchedule& schedule, std::int64_t step) {
  return testing::run({Tensor::from<float>({}, {static_cast<float>(step)})},
                      [&](std::span<const Value> given) { return schedule(given[0]); })
      .item();
}

/// 1 / (1 + step).
class Harmonic : public LearningRateSchedule {
 public:
  Value operator()(Value step) const override { return 1 / (1 + step); }
};

}  // namespace

TEST_CASE("schedules: the host computes the same rate as the step", "[schedules]") {
  const auto schedule = GENERATE(values<LearningRateSchedulePtr>({
      schedules::exponential_decay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.9}),
      schedules::exponential_decay(
          {.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.9, .staircase = true}),
      schedules::piecewise_constant_decay({.boundaries = {3, 10}, .values = {1, 0.5, 0.25}}),
      schedules::polynomial_decay({.initial_learning_rate = 0.1, .decay_steps = 20, .power = 0.5}),
      schedules::polynomial_decay({.initial_learning_rate = 0.1, .decay_steps = 20, .power = 2, .cycle = true}),
      schedules::inverse_time_decay({.initial_learning_rate = 0.1, .decay_steps = 7, .decay_rate = 0.5}),
      schedules::cosine_decay({.initial_learning_rate = 0.1, .decay_steps = 30, .alpha = 0.1}),
      schedules::cosine_decay(
          {.initial_learning_rate = 0, .decay_steps = 30, .warmup_target = 0.1, .warmup_steps = 10}),
      schedules::cosine_decay({.initial_learning_rate = 0.5, .decay_steps = 30, .warmup_target = 0.1}),
      schedules::cosine_decay_restarts(
          {.initial_learning_rate = 0.1, .first_decay_steps = 6, .m_mul = 0.9, .alpha = 0.01}),
      schedules::cosine_decay_restarts({.initial_learning_rate = 0.1, .first_decay_steps = 6, .t_mul = 1}),
      schedules::linear_cosine_decay({.initial_learning_rate = 0.1, .decay_steps = 30, .num_periods = 1.5}),
      std::make_shared<Harmonic>(),
  }));
  for (std::int64_t step = 0; step < 64; ++step) {
    CAPTURE(step);
    CHECK_THAT(traced(*schedule, step), WithinAbs(schedule->at(step), 1e-6));
    CHECK(schedule->at(step) >= 0);
  }
}

TEST_CASE("schedules: a step always has the same noise, on the host too, and a seed sets it", "[schedules]") {
  const auto make = [](std::optional<std::int64_t> seed) {
    return schedules::noisy_linear_cosine_decay(
        {.initial_learning_rate = 1, .decay_steps = 1000, .initial_variance = 0.25, .seed = seed});
  };
  const auto clear = schedules::linear_cosine_decay({.initial_learning_rate = 1, .decay_steps = 1000});
  const auto noisy = make(3), same = make(3), another = make(4), unseeded = make({});
  const auto loaded = from_json<LearningRateSchedule>(to_json<LearningRateSchedule>(*unseeded));
  double early = 0, late = 0;
  for (std::int64_t step = 0; step < 200; ++step) {
    CAPTURE(step);
    CHECK_THAT(traced(*noisy, step), WithinAbs(noisy->at(step), 1e-5));
    CHECK(same->at(step) == noisy->at(step));
    CHECK(another->at(step) != noisy->at(step));
    CHECK(loaded->at(step) == unseeded->at(step));
    const double noise = noisy->at(step) - clear->at(step);
    CHECK(std::abs(noise) < 5 * 0.5 / std::pow(1 + step, 0.275));
    (step < 100 ? early : late) += noise * noise;
  }
  CHECK(late > 0);
  CHECK(late < early);
}

TEST_CASE("schedules: a restart is at its step, after any number of restarts", "[schedules]") {
  const double growth = GENERATE(1.0, 1.5, 2.0, 3.0), height = GENERATE(1.0, 0.9);
  const std::int64_t first = GENERATE(10, 1000);
  const auto schedule = schedules::cosine_decay_restarts(
      {.initial_learning_rate = 1, .first_decay_steps = first, .t_mul = growth, .m_mul = height});
  auto begin = static_cast<double>(first), length = begin * growth;
  for (int restart = 1; restart < 12; ++restart, begin += length, length *= growth) {
    const auto step = static_cast<std::int64_t>(std::ceil(begin));
    CAPTURE(growth, first, restart, step);
    const double highest = std::pow(height, restart);
    CHECK_THAT(schedule->at(step), WithinAbs(highest, 0.1));
    CHECK(schedule->at(step - 1) < 0.1);
    CHECK_THAT(traced(*schedule, step), WithinAbs(highest, 0.1));
    if (length < 5e4) CHECK(traced(*schedule, step - 1) < 0.1);  // float32 cannot distinguish the steps of longer ones
  }
}

TEST_CASE("schedules: polynomial decay stays at or above its end rate at the end of every cycle", "[schedules]") {
  const auto schedule = schedules::polynomial_decay(
      {.initial_learning_rate = 1, .decay_steps = 1'000'000, .end_learning_rate = 0, .power = 0.5, .cycle = true});
  for (const std::int64_t step : {1'000'000, 5'000'000, 15'999'999, 16'000'000, 16'000'001}) {
    CAPTURE(step);
    CHECK(traced(*schedule, step) >= 0);
    CHECK_THAT(traced(*schedule, step), WithinAbs(schedule->at(step), 2e-3));
  }
}

TEST_CASE("schedules: the first step is step 0, and a new rate needs no new trace (O-18)", "[schedules]") {
  Trained sgd(optimizers::sgd(
      {.learning_rate = schedules::piecewise_constant_decay({.boundaries = {0, 2}, .values = {4, 2, 1}})}));
  std::vector<double> rates, steps;
  for (int i = 0; i < 5; ++i) {
    rates.push_back(sgd.optimizer->learning_rate());
    const double before = sgd.now()[0];
    steps.push_back(before - sgd.after({1, 0})[0]);
  }
  CHECK(rates == std::vector<double>{4, 2, 2, 1, 1});
  CHECK(steps == rates);

  Sequential model(two_dense());
  model.compile({.optimizer = optimizers::adam({.learning_rate = std::make_shared<Harmonic>()}), .loss = "mse"});
  const Tensor x = waves({8, 3});
  model.fit(x, signs_of(x), {.batch_size = 4, .epochs = 3, .verbose = 0});
  CHECK(model.make_train_function()->traces() == 1);
  CHECK_THAT(model.optimizer().learning_rate(), WithinRel(1.0 / 7, 1e-12));
}

TEST_CASE("schedules: with accumulated gradients every call is a step of the schedule", "[schedules]") {
  Trained sgd(optimizers::sgd({.learning_rate = std::make_shared<Harmonic>(), .gradient_accumulation_steps = 2}));
  sgd.after({1, 1});
  check_close(sgd.after({1, 1}), {1 - 0.5, -2 - 0.5});
  sgd.after({1, 1});
  check_close(sgd.after({1, 1}), {0.5 - 0.25, -2.5 - 0.25});
}

TEST_CASE("schedules: setting the rate of a schedule is an error (O-17)", "[schedules]") {
  const OptimizerPtr adam = optimizers::adam({.learning_rate = std::make_shared<Harmonic>()});
  CHECK(
      error_of([&] { adam->set_learning_rate(0.5); }) ==
      "[adam] learning_rate = 0.5 - This optimizer was created with a `LearningRateSchedule`, hence its learning rate "
      "is not settable - create it with a number, or change the schedule.");
  CHECK(adam->learning_rate() == 1);
}

TEST_CASE("schedules: a schedule that does not use scalars trains, without a rate on the host", "[schedules]") {
  struct Summed : LearningRateSchedule {
    Value operator()(Value step) const override {
      return ops::sum(step.graph().append(op::Uniform{1, 2, {2}, step.dtype()}, {ops::cast(step, DType::int32)}));
    }
  };
  Trained sgd(optimizers::sgd({.learning_rate = std::make_shared<Summed>()}));
  CHECK(sgd.after({1, 1})[0] < 1);
  CHECK(
      error_of([&] { sgd.optimizer->learning_rate(); }) ==
      "[LearningRateSchedule] Uniform of shape [2] - expected elementwise ops of scalars - write the schedule in such "
      "ops.");
}

TEST_CASE("schedules: options out of range are errors with the full text", "[schedules]") {
  struct Case {
    std::function<LearningRateSchedulePtr()> make;
    std::string text;
  };
  const std::vector<Case> cases{
      {[] { return schedules::exponential_decay({.decay_steps = 1, .decay_rate = 1}); },
       "[ExponentialDecay] initial_learning_rate = nan - expected a finite number of 0 or more - set "
       "initial_learning_rate."},
      {[] { return schedules::exponential_decay({.initial_learning_rate = 1, .decay_rate = 1}); },
       "[ExponentialDecay] decay_steps = 0 - expected 1 or more - set the number of steps of the decay."},
      {[] { return schedules::inverse_time_decay({.initial_learning_rate = 1, .decay_steps = 1}); },
       "[InverseTimeDecay] decay_rate = nan - expected a finite number of 0 or more - set decay_rate."},
      {[] { return schedules::piecewise_constant_decay({.boundaries = {1, 2}, .values = {1, 2}}); },
       "[PiecewiseConstant] 2 boundaries and 2 values - expected one value more than boundaries - pass one for each "
       "interval."},
      {[] { return schedules::piecewise_constant_decay({.boundaries = {2, 2}, .values = {1, 2, 3}}); },
       "[PiecewiseConstant] boundaries out of order - expected increasing boundaries - sort them."},
      {[] { return schedules::polynomial_decay({.initial_learning_rate = 1, .decay_steps = 1, .power = -1}); },
       "[PolynomialDecay] power = -1 - expected a finite number of 0 or more - set power."},
      {[] { return schedules::cosine_decay({.initial_learning_rate = 1, .decay_steps = -2}); },
       "[CosineDecay] decay_steps = -2 - expected 1 or more - set the number of steps of the decay."},
      {[] { return schedules::cosine_decay_restarts({.initial_learning_rate = 1}); },
       "[SGDRDecay] first_decay_steps = 0 - expected 1 or more - set the number of steps of the decay."},
      {[] {
         return schedules::cosine_decay_restarts({.initial_learning_rate = 1, .first_decay_steps = 1, .t_mul = 0.5});
       },
       "[SGDRDecay] t_mul = 0.5 - expected a finite number of 1 or more - set the factor of each period's length."},
      {[] { return from_json<LearningRateSchedule>(R"({"class_name": "StepDecay"})"); },
       "[schedule] class \"StepDecay\" - expected one of: CosineDecay, CosineDecayRestarts, ExponentialDecay, "
       "InverseTimeDecay, LinearCosineDecay, NoisyLinearCosineDecay, PiecewiseConstantDecay, PolynomialDecay - create "
       "objects of other classes in code."},
  };
  for (const Case& test : cases) CHECK(error_of(test.make) == test.text);
}

}  // namespace etude
