#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/catalogue.hpp"
#include "etude/optimizers/schedule.hpp"

/// Keras's schedules, where s is the number of steps taken before (O-18, O-19). Each function throws Error(value) when
/// the learning rate is not a finite number of 0 or more, when there are not 1 or more steps to decay over, and for
/// what is said beside it.
namespace etude::schedules {

/// What there is no default for.
inline constexpr double unset = std::numeric_limits<double>::quiet_NaN();

struct ExponentialDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double decay_rate = unset;
  bool staircase = false;
  std::string name = "ExponentialDecay";

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("initial_learning_rate", self.initial_learning_rate);
    visit("decay_steps", self.decay_steps);
    visit("decay_rate", self.decay_rate);
    visit("staircase", self.staircase);
    visit("name", self.name);
  }
};
struct PiecewiseConstantDecayOptions {
  std::vector<double> boundaries = {}, values = {};
  std::string name = "PiecewiseConstant";

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("boundaries", self.boundaries);
    visit("values", self.values);
    visit("name", self.name);
  }
};
struct PolynomialDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double end_learning_rate = 0.0001, power = 1;
  bool cycle = false;
  std::string name = "PolynomialDecay";

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("initial_learning_rate", self.initial_learning_rate);
    visit("decay_steps", self.decay_steps);
    visit("end_learning_rate", self.end_learning_rate);
    visit("power", self.power);
    visit("cycle", self.cycle);
    visit("name", self.name);
  }
};
struct InverseTimeDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double decay_rate = unset;
  bool staircase = false;
  std::string name = "InverseTimeDecay";

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("initial_learning_rate", self.initial_learning_rate);
    visit("decay_steps", self.decay_steps);
    visit("decay_rate", self.decay_rate);
    visit("staircase", self.staircase);
    visit("name", self.name);
  }
};
struct CosineDecayOptions {
  double initial_learning_rate = unset;
  std::int64_t decay_steps = 0;
  double alpha = 0;
  std::string name = "CosineDecay";
  std::optional<double> warmup_target = {};
  std::int64_t warmup_steps = 0;

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("initial_learning_rate", self.initial_learning_rate);
    visit("decay_steps", self.decay_steps);
    visit("alpha", self.alpha);
    visit("name", self.name);
    visit("warmup_target", self.warmup_target);
    visit("warmup_steps", self.warmup_steps);
  }
};
struct CosineDecayRestartsOptions {
  double initial_learning_rate = unset;
  std::int64_t first_decay_steps = 0;
  double t_mul = 2, m_mul = 1, alpha = 0;
  std::string name = "SGDRDecay";

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("initial_learning_rate", self.initial_learning_rate);
    visit("first_decay_steps", self.first_decay_steps);
    visit("t_mul", self.t_mul);
    visit("m_mul", self.m_mul);
    visit("alpha", self.alpha);
    visit("name", self.name);
  }
};

/// initial · rate^(s / steps), the exponent rounded down under staircase. Error(value) for a decay_rate below 0 too.
LearningRateSchedulePtr exponential_decay(ExponentialDecayOptions options);
/// values[i] up to boundaries[i], that step included; after the last of them the last value. Error(value) unless
/// boundaries increase and there is one value more than boundaries.
LearningRateSchedulePtr piecewise_constant_decay(PiecewiseConstantDecayOptions options);
/// (initial - end) · (1 - s / steps)^power + end; beyond steps it stays, or with cycle begins anew over 2, 3, … times
/// as many steps. Error(value) for a power below 0 too.
LearningRateSchedulePtr polynomial_decay(PolynomialDecayOptions options);
/// initial / (1 + rate · s / steps), the quotient rounded down under staircase. Error(value) for a decay_rate below 0
/// too.
LearningRateSchedulePtr inverse_time_decay(InverseTimeDecayOptions options);
/// Half a cosine from initial to alpha · initial. With a warmup_target a line from initial to it over warmup_steps
/// comes first, and the cosine begins there.
LearningRateSchedulePtr cosine_decay(CosineDecayOptions options);
/// Half cosines, each t_mul times as long and m_mul times as high as the one before. Error(value) for a t_mul below 1
/// and an m_mul that is not above 0 too.
LearningRateSchedulePtr cosine_decay_restarts(CosineDecayRestartsOptions options);

/// The schedule of that class, with options of which `set` has been shown each by name: how a config is read. Throws
/// Error(value) listing the classes there are.
template <class Set> LearningRateSchedulePtr make(std::string_view class_name, Set&& set) {
  const Catalogue<Maker<LearningRateSchedulePtr>> catalogue(
      "learning rate schedule", {
                                    {"ExponentialDecay", maker_of(exponential_decay, set)},
                                    {"PiecewiseConstantDecay", maker_of(piecewise_constant_decay, set)},
                                    {"PolynomialDecay", maker_of(polynomial_decay, set)},
                                    {"InverseTimeDecay", maker_of(inverse_time_decay, set)},
                                    {"CosineDecay", maker_of(cosine_decay, set)},
                                    {"CosineDecayRestarts", maker_of(cosine_decay_restarts, set)},
                                });
  return catalogue.find(class_name)();
}

}  // namespace etude::schedules
