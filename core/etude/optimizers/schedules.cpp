#include "etude/optimizers/schedules.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "etude/base/random.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"

namespace etude::schedules {
namespace {

void check_not_negative(const std::string& name, const char* what, double number) {
  check(std::isfinite(number) && number >= 0, ErrorKind::value, name, what, " = ", number,
        " - expected a finite number of 0 or more - set ", what, '.');
}

void check_steps(const std::string& name, const char* what, std::int64_t steps) {
  check(steps >= 1, ErrorKind::value, name, what, " = ", steps,
        " - expected 1 or more - set the number of steps of the decay.");
}

/// From 1 at 0 to 0 at 1.
Value half_cosine(Value fraction) { return 0.5 * (1 + ops::cos(fraction * std::numbers::pi)); }

Value power(double base, Value exponent) { return ops::power(ops::scalar(base, exponent), exponent); }

class ExponentialDecaySchedule : public LearningRateSchedule {
 public:
  explicit ExponentialDecaySchedule(ExponentialDecayOptions options) : options_(std::move(options)) {
    check_not_negative(options_.name, "initial_learning_rate", options_.initial_learning_rate);
    check_steps(options_.name, "decay_steps", options_.decay_steps);
    check_not_negative(options_.name, "decay_rate", options_.decay_rate);
  }
  Value operator()(Value step) const override {
    const Value periods = step / static_cast<double>(options_.decay_steps);
    return options_.initial_learning_rate *
           power(options_.decay_rate, options_.staircase ? ops::floor(periods) : periods);
  }

 private:
  ExponentialDecayOptions options_;
};

class PiecewiseConstantDecaySchedule : public LearningRateSchedule {
 public:
  explicit PiecewiseConstantDecaySchedule(PiecewiseConstantDecayOptions options) : options_(std::move(options)) {
    const auto& [boundaries, values, name] = options_;
    check(boundaries.size() + 1 == values.size(), ErrorKind::value, name, boundaries.size(), " boundaries and ",
          values.size(), " values - expected one value more than boundaries - pass one for each interval.");
    check(std::ranges::adjacent_find(boundaries, std::greater_equal<>()) == boundaries.end(), ErrorKind::value, name,
          "boundaries out of order - expected increasing boundaries - sort them.");
    for (const double value : values) check_not_negative(name, "a value", value);
  }
  Value operator()(Value step) const override {
    Value rate = ops::scalar(options_.values[0], step);
    for (std::size_t i = 0; i < options_.boundaries.size(); ++i)
      rate = ops::where(ops::less(ops::scalar(options_.boundaries[i], step), step),
                        ops::scalar(options_.values[i + 1], step), rate);
    return rate;
  }

 private:
  PiecewiseConstantDecayOptions options_;
};

class PolynomialDecaySchedule : public LearningRateSchedule {
 public:
  explicit PolynomialDecaySchedule(PolynomialDecayOptions options) : options_(std::move(options)) {
    check_not_negative(options_.name, "initial_learning_rate", options_.initial_learning_rate);
    check_steps(options_.name, "decay_steps", options_.decay_steps);
    check_not_negative(options_.name, "end_learning_rate", options_.end_learning_rate);
    check_not_negative(options_.name, "power", options_.power);
  }
  Value operator()(Value step) const override {
    const auto steps = static_cast<double>(options_.decay_steps);
    // The first period includes step 0, which is not a positive multiple of it.
    const Value periods =
        options_.cycle ? ops::maximum(-ops::floor(-step / steps), ops::scalar(1, step)) : ops::scalar(1, step);
    // Limited to 0: for a large step the quotient may round to more than 1, and the root of a negative rest would be
    // NaN.
    const Value left = ops::maximum(1 - step / (steps * periods), ops::scalar(0, step));
    return (options_.initial_learning_rate - options_.end_learning_rate) *
               ops::power(left, ops::scalar(options_.power, step)) +
           options_.end_learning_rate;
  }

 private:
  PolynomialDecayOptions options_;
};

class InverseTimeDecaySchedule : public LearningRateSchedule {
 public:
  explicit InverseTimeDecaySchedule(InverseTimeDecayOptions options) : options_(std::move(options)) {
    check_not_negative(options_.name, "initial_learning_rate", options_.initial_learning_rate);
    check_steps(options_.name, "decay_steps", options_.decay_steps);
    check_not_negative(options_.name, "decay_rate", options_.decay_rate);
  }
  Value operator()(Value step) const override {
    const Value periods = step / static_cast<double>(options_.decay_steps);
    return options_.initial_learning_rate /
           (1 + options_.decay_rate * (options_.staircase ? ops::floor(periods) : periods));
  }

 private:
  InverseTimeDecayOptions options_;
};

class CosineDecaySchedule : public LearningRateSchedule {
 public:
  explicit CosineDecaySchedule(CosineDecayOptions options) : options_(std::move(options)) {
    check_not_negative(options_.name, "initial_learning_rate", options_.initial_learning_rate);
    check_steps(options_.name, "decay_steps", options_.decay_steps);
    check_not_negative(options_.name, "alpha", options_.alpha);
    check_not_negative(options_.name, "warmup_steps", static_cast<double>(options_.warmup_steps));
    if (options_.warmup_target) check_not_negative(options_.name, "warmup_target", *options_.warmup_target);
  }
  Value operator()(Value step) const override {
    const double initial = options_.initial_learning_rate;
    if (!options_.warmup_target) return decayed(step, initial);
    const double target = *options_.warmup_target;
    const auto warmup_steps = static_cast<double>(options_.warmup_steps);
    const Value after = decayed(step - warmup_steps, target);
    if (warmup_steps == 0) return after;
    return ops::where(ops::less(step, ops::scalar(warmup_steps, step)),
                      (target - initial) * (step / warmup_steps) + initial, after);
  }

 private:
  Value decayed(Value step, double from) const {
    const auto steps = static_cast<double>(options_.decay_steps);
    const Value share = half_cosine(ops::minimum(step, ops::scalar(steps, step)) / steps);
    return from * ((1 - options_.alpha) * share + options_.alpha);
  }
  CosineDecayOptions options_;
};

class CosineDecayRestartsSchedule : public LearningRateSchedule {
 public:
  explicit CosineDecayRestartsSchedule(CosineDecayRestartsOptions options) : options_(std::move(options)) {
    const std::string& name = options_.name;
    check_not_negative(name, "initial_learning_rate", options_.initial_learning_rate);
    check_steps(name, "first_decay_steps", options_.first_decay_steps);
    check(std::isfinite(options_.t_mul) && options_.t_mul >= 1, ErrorKind::value, name, "t_mul = ", options_.t_mul,
          " - expected a finite number of 1 or more - set the factor of each period's length.");
    check(std::isfinite(options_.m_mul) && options_.m_mul > 0, ErrorKind::value, name, "m_mul = ", options_.m_mul,
          " - expected a finite number above 0 - set the factor of each period's first rate.");
    check_not_negative(name, "alpha", options_.alpha);
  }
  Value operator()(Value step) const override {
    const double growth = options_.t_mul;
    // The number of restarts, and the fraction of the current period; both from the step in first periods.
    Value restarts = step / static_cast<double>(options_.first_decay_steps), fraction = restarts;
    if (growth == 1) {
      restarts = ops::floor(restarts);
      fraction = fraction - restarts;
    } else {
      // If the quotient were rounded below an integer, it would restart a step too late.
      const double rounding = step.dtype() == DType::float64 ? 2e-15 : 3e-7;
      restarts = ops::floor(ops::log(1 + fraction * (growth - 1)) * ((1 + rounding) / std::log(growth)));
      const Value length = power(growth, restarts);
      fraction = (fraction - (length - 1) / (growth - 1)) / length;
    }
    const Value share = power(options_.m_mul, restarts) * half_cosine(fraction);
    return options_.initial_learning_rate * ((1 - options_.alpha) * share + options_.alpha);
  }

 private:
  CosineDecayRestartsOptions options_;
};

/// With noise unless initial_variance is 0.
class LinearCosineDecaySchedule : public LearningRateSchedule {
 public:
  explicit LinearCosineDecaySchedule(const NoisyLinearCosineDecayOptions& options) : options_(options) {
    const std::string& name = options_.name;
    check_not_negative(name, "initial_learning_rate", options_.initial_learning_rate);
    check_steps(name, "decay_steps", options_.decay_steps);
    check_not_negative(name, "initial_variance", options_.initial_variance);
    check_not_negative(name, "variance_decay", options_.variance_decay);
    check_not_negative(name, "num_periods", options_.num_periods);
    check_not_negative(name, "alpha", options_.alpha);
    check_not_negative(name, "beta", options_.beta);
  }
  Value operator()(Value step) const override {
    const auto steps = static_cast<double>(options_.decay_steps);
    const Value until = ops::minimum(step, ops::scalar(steps, step)), fraction = until / steps;
    Value line = 1 + options_.alpha - fraction;
    if (options_.initial_variance > 0) line = line + noise(step) * deviation(until);
    return options_.initial_learning_rate * (line * half_cosine(fraction * (2 * options_.num_periods)) + options_.beta);
  }

 private:
  Value deviation(Value step) const {
    return std::sqrt(options_.initial_variance) * ops::power(1 + step, ops::scalar(-options_.variance_decay / 2, step));
  }
  /// A draw from the standard normal distribution (Box-Muller).
  Value noise(Value step) const {
    const auto draw = [&](std::uint32_t stream) {
      const auto seed = static_cast<std::uint64_t>(*options_.seed);
      return ops::uniform({}, step.dtype(), seed, stream, ops::cast(step, DType::int32));
    };
    return ops::sqrt(ops::log(1 - draw(0)) * -2) * ops::cos(draw(1) * (2 * std::numbers::pi));
  }
  NoisyLinearCosineDecayOptions options_;
};

}  // namespace

LearningRateSchedulePtr ExponentialDecay::make(const ExponentialDecayOptions& options) {
  return std::make_shared<ExponentialDecaySchedule>(options);
}
LearningRateSchedulePtr PiecewiseConstantDecay::make(const PiecewiseConstantDecayOptions& options) {
  return std::make_shared<PiecewiseConstantDecaySchedule>(options);
}
LearningRateSchedulePtr PolynomialDecay::make(const PolynomialDecayOptions& options) {
  return std::make_shared<PolynomialDecaySchedule>(options);
}
LearningRateSchedulePtr InverseTimeDecay::make(const InverseTimeDecayOptions& options) {
  return std::make_shared<InverseTimeDecaySchedule>(options);
}
LearningRateSchedulePtr CosineDecay::make(const CosineDecayOptions& options) {
  return std::make_shared<CosineDecaySchedule>(options);
}
LearningRateSchedulePtr CosineDecayRestarts::make(const CosineDecayRestartsOptions& options) {
  return std::make_shared<CosineDecayRestartsSchedule>(options);
}
LearningRateSchedulePtr LinearCosineDecay::make(const LinearCosineDecayOptions& o) {
  return std::make_shared<LinearCosineDecaySchedule>(
      NoisyLinearCosineDecayOptions{.initial_learning_rate = o.initial_learning_rate,
                                    .decay_steps = o.decay_steps,
                                    .initial_variance = 0,
                                    .num_periods = o.num_periods,
                                    .alpha = o.alpha,
                                    .beta = o.beta,
                                    .name = o.name});
}
LearningRateSchedulePtr NoisyLinearCosineDecay::make(const NoisyLinearCosineDecayOptions& given) {
  NoisyLinearCosineDecayOptions options = given;
  // The config has the seed, so that a loaded schedule continues with the same draws.
  if (!options.seed) options.seed = Random(random_seed(), RandomStream::initializer, next_random_stream()).bits();
  const auto made = std::make_shared<LinearCosineDecaySchedule>(options);
  made->describe({class_entry<NoisyLinearCosineDecay>, std::move(options)});
  return made;
}

}  // namespace etude::schedules
